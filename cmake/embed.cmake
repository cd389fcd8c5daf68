# octavo_embed(target symbol file)
# Puts a file's bytes into a target. C++ sees them as
#     extern "C" const unsigned char SYMBOL[];       (aligned to 64 bytes)
#     extern "C" const unsigned char SYMBOL_end[];
function(octavo_embed target symbol file)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
    set(assembly ${CMAKE_CURRENT_BINARY_DIR}/embed/${symbol}.S)
    file(CONFIGURE OUTPUT ${assembly} @ONLY CONTENT [[
    .section .rodata.@symbol@, "a"
    .balign 64
    .global @symbol@
    .global @symbol@_end
@symbol@:
    .incbin "@file@"
@symbol@_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
]])
    set_source_files_properties(${assembly} PROPERTIES OBJECT_DEPENDS ${file})
    target_sources(${target} PRIVATE ${assembly})
endfunction()
