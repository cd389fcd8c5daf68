# SentencePiece: link octavo_sentencepiece, and octavo_sentencepiece_trainer in tests that make a tokenizer.
# The static libraries that tools/setup builds come first; the packaged shared ones serve where it could not.
set(prefix ${OCTAVO_CACHE}/sentencepiece)
find_path(OCTAVO_SENTENCEPIECE_INCLUDE sentencepiece_processor.h HINTS ${prefix}/include)
find_library(OCTAVO_SENTENCEPIECE_LIBRARY NAMES libsentencepiece.a sentencepiece HINTS ${prefix}/lib)
find_library(OCTAVO_SENTENCEPIECE_TRAINER NAMES libsentencepiece_train.a sentencepiece_train HINTS ${prefix}/lib)
if(NOT OCTAVO_SENTENCEPIECE_INCLUDE OR NOT OCTAVO_SENTENCEPIECE_LIBRARY)
    message(FATAL_ERROR "SentencePiece was not found in ${prefix} or on the system: run tools/setup.")
endif()

cmake_path(GET OCTAVO_SENTENCEPIECE_LIBRARY EXTENSION LAST_ONLY extension)
if(extension STREQUAL .a)
    message(STATUS "SentencePiece: static, ${OCTAVO_SENTENCEPIECE_LIBRARY}")
else()
    message(STATUS "SentencePiece: SHARED, ${OCTAVO_SENTENCEPIECE_LIBRARY} (the static library was not found)")
    # Named in the list of shared libraries that a test allows the release binary.
    list(APPEND OCTAVO_SHARED_DEPENDENCIES libsentencepiece.so.0)
endif()

add_library(octavo_sentencepiece INTERFACE)
target_include_directories(octavo_sentencepiece SYSTEM INTERFACE ${OCTAVO_SENTENCEPIECE_INCLUDE})
target_link_libraries(octavo_sentencepiece INTERFACE ${OCTAVO_SENTENCEPIECE_LIBRARY} Threads::Threads)
add_library(octavo_sentencepiece_trainer INTERFACE)
target_link_libraries(octavo_sentencepiece_trainer INTERFACE ${OCTAVO_SENTENCEPIECE_TRAINER} octavo_sentencepiece)
