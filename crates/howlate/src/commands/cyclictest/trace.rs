//! `--tracemark`: marks the kernel's trace and stops it, from the thread that was late.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use howlate_cyclictest::{Options, trace_mark};
use howlate_model::OnAbove;

use crate::terminal::say;

/// Where tracefs is mounted: since Linux 4.1, and before.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// What to do when `-b` is exceeded; `None` if nothing.
pub(crate) fn on_above(options: &Options) -> Option<OnAbove> {
    if !options.tracemark || options.break_above.is_none() {
        return None;
    }
    let open = |name: &str| {
        let place = PLACES.iter().map(|place| Path::new(place).join(name)).find(|path| path.exists());
        place.and_then(|path| File::options().write(true).open(path).ok())
    };
    let (Some(marker), Some(switch)) = (open("trace_marker"), open("tracing_on")) else {
        say(
            "WARN: cannot write to the kernel's trace; is tracefs mounted at /sys/kernel/tracing, and are you root?\n",
        );
        return None;
    };
    let options = options.clone();
    Some(OnAbove::new(move |latency| {
        // Too late to say anything; the result does not depend on it.
        drop((&marker).write_all(trace_mark(&options, latency).as_bytes()));
        drop((&switch).write_all(b"0"));
    }))
}
