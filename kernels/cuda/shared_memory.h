// What a GPU has of shared memory.
#pragma once

namespace octavo::cuda {

struct SharedMemory {  // bytes
    int of_multiprocessor = 0;
    int of_block = 0;  // at most
};

}  // namespace octavo::cuda
