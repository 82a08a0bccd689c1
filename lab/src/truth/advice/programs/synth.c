/* A client of JACK that needs half of its time, with stamps of how late each cycle ended against the server's clock. */
#include "witness.h"
#include <jack/jack.h>

static long begun, cycle, period;

static int process(jack_nframes_t frames, void *unused)
{
	(void)unused;
	(void)frames;
	if (!begun)
		begun = now();
	work(period / 2000);
	/* The first cycle is the measure of all. */
	witness_late(now() - begun - cycle++ * period, period);
	return 0;
}

int main(void)
{
	jack_client_t *client = jack_client_open("synth", JackNoStartServer, NULL);
	if (!client)
		return 3;
	witness_begin();
	period = 1000000000L * jack_get_buffer_size(client) / jack_get_sample_rate(client);
	jack_set_process_callback(client, process, NULL);
	if (jack_activate(client))
		return 3;
	while (witness_goes_on())
		sleep_for(20000);
	witness_end();
}
