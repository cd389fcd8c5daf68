# octavo_embed_fonts(target)
# Puts the fonts of Debian's font packages into a target, as octavo_font_NAME (see octavo_embed). Together 8.4 MB:
# Latin, Greek and Cyrillic in three faces, code, then what those lack: Arabic and symbols, emoji, CJK.
function(octavo_embed_fonts target)
    set(fonts regular Inter-Regular.otf strong Inter-SemiBold.otf italic Inter-Italic.otf
              mono JetBrainsMono-Regular.ttf symbols DejaVuSans.ttf emoji Symbola_hint.ttf cjk DroidSansFallback.ttf)
    while(fonts)
        list(POP_FRONT fonts name file)
        find_file(OCTAVO_FONT_${name} ${file} NO_DEFAULT_PATH PATHS
                  /usr/share/fonts/opentype/inter /usr/share/fonts/truetype/jetbrains-mono
                  /usr/share/fonts/truetype/dejavu /usr/share/fonts/truetype/ancient-scripts
                  /usr/share/fonts-droid-fallback/truetype)
        if(NOT OCTAVO_FONT_${name})
            message(FATAL_ERROR "The font ${file}, which goes into the program, was not found: run tools/setup.")
        endif()
        octavo_embed(${target} octavo_font_${name} ${OCTAVO_FONT_${name}})
    endwhile()
endfunction()
