// The first process of a guest: a watch of a server, which is this program with an argument. Prints what the result has.
#define _GNU_SOURCE
#include "../guest_init/init.h"
#define main serve_and_ask
#include "../common/server.c"
#undef main
#include <net/if.h>
#include <sys/ioctl.h>

static void raise_loopback(void) {
    struct ifreq interface = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
    ioctl(socket(AF_INET, SOCK_DGRAM, 0), SIOCSIFFLAGS, &interface);
}

static void say(const char *what, int is_there) {
    printf("%s: %s\n", what, is_there ? "found" : "missing");
}

/* A cause with this call and, in the next line, this thread. */
static int has_sleep_of_keeper(const char *result) {
    static const char call[] = "\"call\": \"clock_nanosleep\",", thread[] = "\"through\": \"keeper\"";
    while ((result = strstr(result, call))) {
        result += sizeof(call) - 1;
        result += strspn(result, " \n");
        if (!strncmp(result, thread, sizeof(thread) - 1)) return 1;
    }
    return 0;
}

int main(int count, char **words) {
    if (count > 1) return serve_and_ask(count, words);
    set_up();
    raise_loopback();
    char *watch[] = { "howlate", "watch", "--requests", "--late-above", "1ms", "--json", "--details", "--quiet", "--no-save",
                      "--", "/init", "/tmp/socket", NULL };
    int status;
    waitpid(start(watch), &status, 0);
    // Of the end of a console only a few lines are shown.
    const char *result = content_of(OUTPUT);
    say("requests", strstr(result, "\"count\": 200") != NULL);
    say("answers of HTTP/2", strstr(result, "\"http2\": 2") != NULL);
    say("sleep of the keeper", has_sleep_of_keeper(result));
    printf("that is all\n");
    fflush(stdout);
    sleep(1);
    reboot(RB_POWER_OFF);
}
