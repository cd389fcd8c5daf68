// What the operating system says about the processor.
#pragma once

namespace octavo {

// Physical cores that this process may run on (its affinity mask, hyper-threads of one core counted once); at least 1.
int usable_physical_cores();

}  // namespace octavo
