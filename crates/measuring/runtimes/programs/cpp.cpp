// How late std::this_thread::sleep_for of C++ returns. The protocol is described in docs/probes.md.
#include <array>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>
#include <thread>

using namespace std::chrono;

constexpr std::size_t MOST = 4096; // readings kept before they are printed
constexpr int64_t SECOND = 1'000'000'000;

// On Linux, steady_clock is CLOCK_MONOTONIC.
static int64_t now() {
    return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

struct Reading {
    int64_t start, end;
};

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    const nanoseconds asked{std::stoll(argv[1])};
    std::cout << "howlate-probe 1 monotonic C++ " << __cplusplus / 100 % 100 << ", compiler " << __VERSION__
              << ": std::this_thread::sleep_for" << std::endl;

    static std::array<Reading, MOST> readings{};
    std::size_t kept = 0;
    int64_t next_print = now() + SECOND;
    for (auto left = std::stoll(argv[2]); left > 0; left--) {
        Reading &reading = readings[kept++];
        reading.start = now();
        std::this_thread::sleep_for(asked);
        reading.end = now();
        if (kept == MOST || reading.end >= next_print || left == 1) {
            for (std::size_t i = 0; i < kept; i++) std::cout << readings[i].start << ' ' << readings[i].end << '\n';
            std::cout.flush();
            kept = 0;
            next_print = now() + SECOND;
        }
    }
    std::cout << "end" << std::endl;
}
