# octavo_isa_variants(target folder)
# Compiles every source of a folder once for each instruction set and adds the objects to the target. OCTAVO_ISA
# is the variant's name, used by the sources as a namespace; which one runs is chosen at run time.
#
# These sources must not use inline functions of other headers that could stay out of line (std:: containers and
# the like): the linker keeps one copy of those, and could keep one that only newer processors can run.
function(octavo_isa_variants target folder)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cpp)
    if(NOT sources)
        return()
    endif()

    set(variants generic)
    set(generic_flags "")
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        list(APPEND variants avx2 avx512)
        set(avx2_flags -mavx2 -mfma -mf16c -mbmi2)
        set(avx512_flags ${avx2_flags} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512
                         # GCC 12's own AVX-512 headers start from values left undefined on purpose (GCC bug 105593).
                         -Wno-uninitialized -Wno-maybe-uninitialized)
    endif()

    foreach(variant IN LISTS variants)
        add_library(${target}_${variant} OBJECT ${sources})
        target_link_libraries(${target}_${variant} PRIVATE octavo_options)
        target_compile_definitions(${target}_${variant} PRIVATE OCTAVO_ISA=${variant})
        target_compile_options(${target}_${variant} PRIVATE $<$<CONFIG:Release>:-O3> ${${variant}_flags})
        target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${variant}>)
    endforeach()
endfunction()
