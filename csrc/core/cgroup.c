/* Limits of control groups, version 1 and 2, of this process's group and of all groups above it. */
#include "core/cgroup.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { MOST_CONTENT = 512 }; /* of the small files that hold a limit */

/* The limit in one group's folder; INT64_MAX: none. */
typedef int64_t (*read_limit_fn)(const char *folder);

/* Content of folder/name as a string; "" when it cannot be read. */
static void read_small_file(const char *folder, const char *name, char content[MOST_CONTENT])
{
    char path[PATH_MAX];
    content[0] = '\0';
    int size = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (size < 0 || (size_t)size >= sizeof path) return;
    FILE *file = fopen(path, "re");
    if (!file) return;
    size_t got = fread(content, 1, MOST_CONTENT - 1, file);
    content[got] = '\0';
    fclose(file);
}

/* Text that is a positive number, or `otherwise`. */
static int64_t number_or(int64_t otherwise, const char *text)
{
    int64_t value;
    return sscanf(text, "%" SCNd64, &value) == 1 && value > 0 ? value : otherwise;
}

/* INT64_MAX for "max", for version 1's -1 and for text that is not a number. */
static int64_t number_or_none(const char *text)
{
    return number_or(INT64_MAX, text);
}

static int64_t whole_cpus(int64_t quota, int64_t period)
{
    if (quota == INT64_MAX || period == INT64_MAX) return INT64_MAX;
    return quota / period + (quota % period != 0);
}

static int64_t read_cpus(const char *folder)
{
    char content[MOST_CONTENT]; /* version 2: "max 100000" or "150000 100000" */
    read_small_file(folder, "cpu.max", content);
    const char *blank = strchr(content, ' ');
    if (blank) return whole_cpus(number_or_none(content), number_or_none(blank));

    char period[MOST_CONTENT];
    read_small_file(folder, "cpu.cfs_quota_us", content);
    read_small_file(folder, "cpu.cfs_period_us", period);
    return whole_cpus(number_or_none(content), number_or_none(period));
}

static int64_t read_memory(const char *folder)
{
    char content[MOST_CONTENT];
    read_small_file(folder, "memory.max", content);
    if (!content[0]) read_small_file(folder, "memory.limit_in_bytes", content);
    return number_or_none(content);
}

/* As a limit that is smaller the longer it was: minus the time. */
static int64_t read_throttled(const char *folder)
{
    char content[MOST_CONTENT]; /* a line "name value" each; version 2 counts microseconds */
    read_small_file(folder, "cpu.stat", content);
    const char *micro = strstr(content, "throttled_usec ");
    const char *nano = strstr(content, "throttled_time ");
    if (micro) return -1000 * number_or(0, strchr(micro, ' '));
    return nano ? -number_or(0, strchr(nano, ' ')) : 0;
}

/* The smallest limit of a group and its parents. Inside a container the group's path is often the
 * host's and does not exist; the mount's root, which is always read, is then the container's
 * group. */
static int64_t smallest_upwards(const char *root, const char *mount, const char *group,
                                read_limit_fn read_limit)
{
    char folder[PATH_MAX];
    int mount_size = snprintf(folder, sizeof folder, "%s%s", root, mount);
    if (mount_size < 0 || (size_t)mount_size >= sizeof folder) return INT64_MAX;
    size_t left = sizeof folder - (size_t)mount_size;
    int size = snprintf(folder + mount_size, left, "%s", group);
    if (size < 0 || (size_t)size >= left) folder[mount_size] = '\0';

    int64_t smallest = INT64_MAX;
    for (;;) {
        int64_t limit = read_limit(folder);
        if (limit < smallest) smallest = limit;
        char *slash = strrchr(folder + mount_size, '/');
        if (!slash) return smallest;
        *slash = '\0';
    }
}

/* Whether "cpu,cpuacct" names "cpu". */
static int names_controller(const char *list, const char *controller)
{
    size_t size = strlen(controller);
    for (const char *item = list; item; item = strchr(item, ',')) {
        item += *item == ',';
        if (!strncmp(item, controller, size) && (!item[size] || item[size] == ',')) return 1;
    }
    return 0;
}

/* /proc/self/cgroup has lines "id:controllers:/path"; version 2 is "0::/path". */
static int64_t smallest_limit(const char *root, const char *controller, read_limit_fn read_limit)
{
    char line[PATH_MAX + 256];
    char mount[64];
    int64_t smallest = INT64_MAX;
    (void)snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
    FILE *file = fopen(line, "re");
    if (!file) return INT64_MAX;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(++controllers, ':') : NULL;
        if (!group) continue;
        *group++ = '\0';
        int64_t limit = INT64_MAX;
        if (!controllers[0]) { /* version 2, alone or beside version 1 */
            limit = smallest_upwards(root, "/sys/fs/cgroup", group, read_limit);
            if (limit < smallest) smallest = limit;
            limit = smallest_upwards(root, "/sys/fs/cgroup/unified", group, read_limit);
        } else if (names_controller(controllers, controller)) {
            (void)snprintf(mount, sizeof mount, "/sys/fs/cgroup/%s", controller);
            limit = smallest_upwards(root, mount, group, read_limit);
        }
        if (limit < smallest) smallest = limit;
    }
    fclose(file);
    return smallest;
}

int64_t pfd_cgroup_cpus(const char *root)
{
    return smallest_limit(root, "cpu", read_cpus);
}

int64_t pfd_cgroup_memory(const char *root)
{
    return smallest_limit(root, "memory", read_memory);
}

int64_t pfd_cgroup_throttled_ns(const char *root)
{
    int64_t smallest = smallest_limit(root, "cpu", read_throttled);
    return smallest < 0 ? -smallest : 0;
}
