//! `cargo xtask bench ending`: how soon commands obey Ctrl-C while two hundred others want the CPUs.

use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use howlate_linux::termination::raise_termination_priority;
use howlate_linux::{clock, sched};
use howlate_model::{Nice, Policy, Span};
use rustix::process::{Pid, Signal, kill_process};

use super::program::{KilledOnDrop, built};
use super::why::limit::{BenchFigure, BenchLimits};

/// Limit from Ctrl-C to the end, s.
const MOST: f64 = 2.0;
const BUSY: usize = 200;
/// By then the tracer is loaded, which takes a quarter of a second of CPU time, beside two hundred other processes.
const BEGUN: Span = Span::from_secs(45);

/// By then the tracer is being loaded.
const LOADING: Span = Span::from_secs(2);

/// Commands, and when to send Ctrl-C.
const COMMANDS: [(&str, Span); 8] = [
    ("record --quiet --out OUT", LOADING),
    ("record --quiet --out OUT", BEGUN),
    ("top --json --duration 1h", BEGUN),
    ("watch --quiet --out OUT -- sleep 3600", LOADING),
    ("watch --quiet --out OUT -- sleep 3600", BEGUN),
    ("cyclic --threads 2 --duration 1h --quiet --out OUT", BEGUN),
    ("cyclic --why --threads 2 --duration 1h --quiet --out OUT", BEGUN),
    ("gaps --json --duration 1h --quiet", BEGUN),
];

/// Prints how long each takes to end; fails if one exceeds the limit.
pub fn run() -> io::Result<()> {
    let howlate = built()?;
    let busy = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().map(KilledOnDrop);
    let _busy = (0..BUSY).map(|_| busy()).collect::<io::Result<Vec<_>>>()?;
    // Otherwise this process would learn late that they have ended.
    raise_termination_priority();
    let mut limits = BenchLimits::default();
    for (arguments, after) in COMMANDS {
        let (status, value) = ended(&howlate, arguments, after)?;
        let arguments = arguments.replace(" --out OUT", "");
        let name = format!("{arguments}, Ctrl-C after {after}: until it has ended ({status})");
        limits.judge(&BenchFigure { name: &name, value, interval: None, most: MOST, unit: "s" });
    }
    limits.verdict()
}

/// Exit status, and seconds from Ctrl-C to the end.
fn ended(howlate: &Path, arguments: &str, after: Span) -> io::Result<(ExitStatus, f64)> {
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("out").display().to_string();
    let mut command = Command::new(howlate);
    command.args(arguments.split(' ').map(|word| if word == "OUT" { &out } else { word }));
    let mut program = KilledOnDrop(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
    sched::set_policy(program.0.id(), Policy::Other { nice: Nice::new(0) })?;
    clock::sleep_for(after)?;
    let signalled = clock::now();
    kill_process(Pid::from_child(&program.0), Signal::INT)?;
    let status = program.0.wait()?;
    Ok((status, clock::now().since(signalled).as_secs_f64()))
}
