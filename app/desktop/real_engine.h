// The engine behind the port: a thread that carries out commands in order, and another that counts tokens meanwhile.
#pragma once

#include <functional>
#include <memory>

#include "app/desktop/engine_port.h"

namespace octavo {

// `wake` is called, from any thread, when there is something to take.
std::unique_ptr<EnginePort> make_real_engine(std::function<void()> wake);

}  // namespace octavo
