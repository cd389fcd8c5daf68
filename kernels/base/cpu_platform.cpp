#include "kernels/base/cpu_platform.h"

#include <algorithm>
#include <thread>

#if defined(__linux__)
#include <fmt/format.h>
#include <sched.h>
#include <fstream>
#include <set>
#include <string>
#endif

namespace octavo {

#if defined(__linux__)

int usable_physical_cores() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    }
    std::set<std::string> cores;  // a core is known by the list of its hyper-threads
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &allowed)) continue;
        std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
        std::string siblings;
        if (!std::getline(file, siblings)) siblings = std::to_string(cpu);
        cores.insert(siblings);
    }
    return std::max(1, static_cast<int>(cores.size()));
}

#else

int usable_physical_cores() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

#endif

}  // namespace octavo
