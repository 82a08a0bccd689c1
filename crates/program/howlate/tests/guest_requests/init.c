// The first process of a guest: a watch of a server, which is this program with an argument. Prints what the watch has shown.
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

int main(int count, char **words) {
    if (count > 1) return serve_and_ask(count, words);
    set_up();
    raise_loopback();
    char *watch[] = { "howlate", "watch", "--requests", "--no-save", "--", "/init", "/tmp/socket", NULL };
    int status;
    waitpid(start(watch), &status, 0);
    // Of the end of a console only a few lines are shown.
    char *text = content_of(OUTPUT), *meaning = strstr(text, "What this means");
    printf("%.500s\nthat is all\n", meaning ? meaning : text);
    fflush(stdout);
    sleep(1);
    reboot(RB_POWER_OFF);
}
