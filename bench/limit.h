// What the programs of the limits share: mapped files, teams of threads, and the times of a pass.
#pragma once

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

[[noreturn]] inline void die(const char *what)
{
    perror(what);
    exit(1);
}

inline int open_file(const char *path)
{
    int fd = open(path, O_RDONLY);
    if (fd < 0) die(path);
    return fd;
}

// A file in memory, mapped for as long as the program runs.
template <class T> struct Mapped {
    const T *data;
    size_t size; // in values

    explicit Mapped(const char *path)
    {
        int fd = open_file(path);
        struct stat status;
        if (fstat(fd, &status) != 0) die(path);
        size = (size_t)status.st_size / sizeof(T);
        void *memory =
            mmap(nullptr, (size_t)status.st_size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
        if (memory == MAP_FAILED) die(path);
        data = (const T *)memory;
        close(fd);
    }
};

// Does the tasks from 0 on in so many threads.  Each calls make(thread) once, for a function with
// its own buffers that is called with one task after the other.
template <class Make> void run(int threads, size_t tasks, Make make)
{
    std::atomic<size_t> next{0};
    std::vector<std::thread> team;
    for (int i = 0; i < threads; i++) {
        team.emplace_back([&, i] {
            auto work = make(i);
            for (size_t task; (task = next++) < tasks;) work(task);
        });
    }
    for (std::thread &each : team) each.join();
}

inline double cpu_seconds()
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

// Prints an object of JSON: the seconds and CPU seconds of a pass, and `more` entries.
template <class Pass> void print_times(Pass pass, const std::string &more = "")
{
    double cpu = cpu_seconds();
    auto began = std::chrono::steady_clock::now();
    pass();
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
    printf("{\"seconds\": %.9f, \"cpu\": %.6f%s}\n", seconds.count(), cpu_seconds() - cpu,
           more.c_str());
}
