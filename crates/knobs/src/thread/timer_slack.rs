//! How much later than asked the kernel may end the sleep of an ordinary thread.
//!
//! Source: `PR_SET_TIMERSLACK(2const)`.

use howlate_model::Span;
use howlate_procfs::Root;

use crate::change::ThreadSetting;
use crate::knob::{Knob, Look, Scope};
use crate::way::Text;

pub(crate) const KNOB: Knob = Knob {
    name: "timer_slack",
    scope: Scope::Thread,
    what: "the least timer slack, so that sleeps are not grouped",
    cost: "wake-ups are no longer grouped: a little power",
    look,
    texts: &[
        Text("systemd", "TimerSlackNSec=1ns"),
        Text("C", "prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);   /* in each thread */"),
        Text("Rust", "rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;   // in each thread"),
        Text("Python", "ctypes.CDLL(None).prctl(29, 1, 0, 0, 0)   # PR_SET_TIMERSLACK, in each thread"),
        Text("shell", "echo 1 > /proc/$$/timerslack_ns   # this shell and what it starts"),
    ],
};

fn look(root: &Root) -> Look {
    const FILE: &str = "/proc/self/timerslack_ns";
    let least = Span::from_nanos(1);
    match root.read(FILE) {
        Ok(now) if now == "1" => Look::AsWanted(least.to_string()),
        Ok(now) => {
            let now = now.parse().map_or(now, |nanos| Span::from_nanos(nanos).to_string());
            Look::thread(now, least.to_string(), ThreadSetting::Slack(least))
        }
        // It may be asked for by a call where the file is hidden.
        Err(_) => Look::thread("as inherited", least.to_string(), ThreadSetting::Slack(least)),
    }
}
