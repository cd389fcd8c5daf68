# OCTAVO_CACHE: the folder in which tools/setup builds libraries; the environment variable of that name moves it.
if(DEFINED ENV{OCTAVO_CACHE})
    set(default_cache $ENV{OCTAVO_CACHE})
else()
    set(default_cache ${CMAKE_SOURCE_DIR}/.cache)
endif()
set(OCTAVO_CACHE ${default_cache} CACHE PATH "Folder of the libraries that tools/setup builds")
