/*
 * How fast the guest's CPUs run: the emulator calls this before each block of the guest's instructions, and a CPU that has
 * run more of them than its clock allows waits here. So its speed follows its clock whatever else this machine does, as
 * long as there is time to catch up.
 *
 * Argument: pace=FILE, one `struct cpu` a CPU. Who made the file writes the rates and reads what was run.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Interface of the emulator's plugins, version 1. */
typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_info;
typedef void (*on_translation)(plugin_id, struct qemu_plugin_tb *);
typedef void (*on_cpu)(plugin_id, unsigned int cpu);
typedef void (*on_execution)(unsigned int cpu, void *data);
extern void qemu_plugin_register_vcpu_resume_cb(plugin_id, on_cpu);
extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, on_translation);
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, on_execution, int flags, void *data);
struct qemu_plugin_insn;
typedef void (*on_reset)(plugin_id);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t at);
extern size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);
extern const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
extern uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
extern void qemu_plugin_reset(plugin_id, on_reset);
__attribute__((visibility("default"))) int qemu_plugin_version = 1;

enum { CPUS = 8, NO_REGISTERS = 0 };
#define SECOND_NS 1000000000LL
/* How long an idle CPU may save up what it does not run, and how long one waits at least: a fine grain beside a packet's way. */
#define BURST_NS 200000LL
#define WAIT_NS 50000LL
/* A CPU that was kept from running catches up with no more than this. */
#define ARREARS_NS 100000000LL
/* The x86 breakpoint instruction, and how often in a row a CPU may meet the same one. */
#define BREAKPOINT 0xCC
#define STALE 500

struct cpu {
    _Atomic uint64_t per_s;   /* instructions a second; 0: as fast as it can */
    _Atomic uint64_t run;     /* instructions so far */
    _Atomic uint64_t dropped; /* how often everything was translated anew for it */
};

static struct cpu *cpus;

/* Each is touched by its CPU's own thread alone. */
static struct {
    int64_t credit;   /* instructions it may run before it looks at the time */
    int64_t since_ns; /* until when credit was given */
    uint64_t breakpoint;   /* address of the last one it met */
    uint64_t met;          /* how often in a row */
} own[CPUS];

static plugin_id ours;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * SECOND_NS + now.tv_nsec;
}

static int64_t worth(uint64_t per_s, int64_t ns)
{
    return (int64_t)((__int128)per_s * ns / SECOND_NS);
}

/* Gives what the time that passed allows, and waits until that is something. */
static void wait_for_credit(unsigned int cpu)
{
    for (;;) {
        uint64_t per_s = atomic_load_explicit(&cpus[cpu].per_s, memory_order_relaxed);
        int64_t now = now_ns(), most = worth(per_s, ARREARS_NS);
        if (per_s == 0) {
            own[cpu].credit = 100000;
            own[cpu].since_ns = now;
            return;
        }
        own[cpu].credit += worth(per_s, now - own[cpu].since_ns);
        own[cpu].since_ns = now;
        if (own[cpu].credit > most)
            own[cpu].credit = most;
        if (own[cpu].credit > 0)
            return;
        int64_t owed_ns = (int64_t)((__int128)-own[cpu].credit * SECOND_NS / (int64_t)per_s);
        /* Who slowed it down cannot have meant what it ran before. */
        if (owed_ns > ARREARS_NS)
            own[cpu].credit = -most;
        struct timespec pause = { 0, owed_ns < WAIT_NS ? WAIT_NS : owed_ns < ARREARS_NS ? owed_ns : ARREARS_NS };
        nanosleep(&pause, NULL);
    }
}

static void block_runs(unsigned int cpu, void *instructions)
{
    int64_t count = (int64_t)(intptr_t)instructions;
    uint64_t run = atomic_load_explicit(&cpus[cpu].run, memory_order_relaxed);
    atomic_store_explicit(&cpus[cpu].run, run + (uint64_t)count, memory_order_relaxed);
    own[cpu].credit -= count;
    if (__builtin_expect(own[cpu].credit <= 0, 0))
        wait_for_credit(cpu);
}

static void listen(plugin_id);

/*
 * A kernel that patches its code (jump labels, tracepoints) puts a breakpoint there meanwhile. The emulator drops a translated
 * block before the store that changes its code, so another CPU can translate the old bytes in between and then keeps a
 * breakpoint that is no longer there: the kernel finds none and repeats the instruction, for ever. So a CPU that
 * meets the same breakpoint again and again makes the emulator translate everything anew.
 */
static void breakpoint_is_met(unsigned int cpu, void *address)
{
    if (own[cpu].breakpoint != (uint64_t)(uintptr_t)address) {
        own[cpu].breakpoint = (uint64_t)(uintptr_t)address;
        own[cpu].met = 0;
    }
    if (++own[cpu].met < STALE)
        return;
    own[cpu].met = 0;
    atomic_fetch_add_explicit(&cpus[cpu].dropped, 1, memory_order_relaxed);
    qemu_plugin_reset(ours, listen);
}

static void block_is_new(plugin_id id, struct qemu_plugin_tb *block)
{
    size_t length = qemu_plugin_tb_n_insns(block);
    const struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(block, length - 1);
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_cb(block, block_runs, NO_REGISTERS, (void *)length);
    if (qemu_plugin_insn_size(last) == 1 && *(const uint8_t *)qemu_plugin_insn_data(last) == BREAKPOINT)
        qemu_plugin_register_vcpu_tb_exec_cb(block, breakpoint_is_met, NO_REGISTERS,
                                             (void *)(uintptr_t)qemu_plugin_insn_vaddr(last));
}

/* What passes while a CPU sleeps gives it no credit beyond a burst. */
static void wakes(plugin_id id, unsigned int cpu)
{
    int64_t burst = worth(atomic_load_explicit(&cpus[cpu].per_s, memory_order_relaxed), BURST_NS);
    (void)id;
    own[cpu].since_ns = now_ns();
    if (own[cpu].credit < burst)
        own[cpu].credit = burst;
}

/* Asks for what we are called for; a reset forgets it. */
static void listen(plugin_id id)
{
    qemu_plugin_register_vcpu_resume_cb(id, wakes);
    qemu_plugin_register_vcpu_tb_trans_cb(id, block_is_new);
}

__attribute__((visibility("default"))) int qemu_plugin_install(plugin_id id, const struct qemu_info *info, int count, char **arguments)
{
    (void)info;
    if (count != 1 || strncmp(arguments[0], "pace=", 5) != 0)
        return 1;
    int file = open(arguments[0] + 5, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return 1;
    cpus = mmap(NULL, CPUS * sizeof *cpus, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (cpus == MAP_FAILED)
        return 1;
    ours = id;
    listen(id);
    return 0;
}
