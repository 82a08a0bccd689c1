//! A request that no CPU enters an idle state that takes time to leave, for as long as the file is held open.
//!
//! Source: Documentation/power/pm_qos_interface.rst.

use howlate_model::SettingScope;
use howlate_procfs::Root;

use crate::change::Change;
use crate::knob::{Knob, Look};
use crate::persistent::Text;

pub(crate) const KNOB: Knob = Knob {
    name: "cpu_dma_latency",
    scope: SettingScope::Machine,
    what: "no idle states that take time to leave, while it is held",
    cost: "power and heat: no CPU sleeps; less turbo for other CPUs",
    look,
    texts: &[
        Text::Line(
            "C",
            r#"int f = open("/dev/cpu_dma_latency", O_WRONLY); int32_t us = 0; write(f, &us, 4);   /* and leave it open */"#,
        ),
        Text::Line(
            "Python",
            r#"f = open("/dev/cpu_dma_latency", "wb", 0); f.write(bytes(4))   # and leave it open"#,
        ),
        Text::Line(
            "shell",
            r#"exec 3> /dev/cpu_dma_latency; printf '\0\0\0\0' >&3   # as long as this shell lives"#,
        ),
    ],
};

const FILE: &str = "/dev/cpu_dma_latency";

fn look(root: &Root) -> Look {
    if !root.has("/sys/devices/system/cpu/cpu0/cpuidle/state0/name") {
        return Look::Absent("this kernel manages no idle states".to_owned());
    }
    let change = Change::Held { path: FILE, micros: 0 };
    Look::Turn { from: "no request".to_owned(), to: "0 µs".to_owned(), change }
}
