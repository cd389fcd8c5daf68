# octavo_isa_variants(target folder variant...)
# Compiles every source of a folder once for each instruction set named and adds the objects to the target. OCTAVO_ISA
# is the variant's name, used by the sources as a namespace; which one runs is chosen at run time. Variants other than
# `generic` are left out on machines that are not x86-64.
#
# These sources must not use inline functions of other headers that could stay out of line (std:: containers and
# the like): the linker keeps one copy of those, and could keep one that only newer processors can run.
set(octavo_isa_flags_generic "")
set(octavo_isa_flags_avx2 -mavx2 -mfma -mf16c -mbmi2)
set(octavo_isa_flags_avx_vnni ${octavo_isa_flags_avx2} -mavxvnni)
set(octavo_isa_flags_avx512 ${octavo_isa_flags_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl
                            -mprefer-vector-width=512
                            # GCC 12's own AVX-512 headers start from values left undefined on purpose (GCC bug 105593).
                            $<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized>
                            $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
set(octavo_isa_flags_avx512_vnni ${octavo_isa_flags_avx512} -mavx512vnni)

function(octavo_isa_variants target folder)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cpp)
    if(NOT sources)
        return()
    endif()
    get_filename_component(name ${folder} NAME)

    foreach(variant IN LISTS ARGN)
        if(NOT variant STREQUAL generic AND NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
            continue()
        endif()
        set(objects ${target}_${name}_${variant})
        add_library(${objects} OBJECT ${sources})
        target_link_libraries(${objects} PRIVATE octavo_options)
        target_compile_definitions(${objects} PRIVATE OCTAVO_ISA=${variant})
        target_compile_options(${objects} PRIVATE $<$<CONFIG:Release>:-O3> ${octavo_isa_flags_${variant}})
        target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
    endforeach()
endfunction()
