//! `howlate load`

use clap::Args;
use howlate_model::{CpuSet, Load as OneLoad, Span};

use super::PrintArgs;

/// Apply a background load alone, and say how much it does
#[derive(Args)]
#[command(after_help = "\
Built in: cpu, pipe, interrupt, hackbench, memory, disk, files, network, fork, timers, awake\n\
Parameters: `:50%` (of the time), `:workers=N`, `:cpus=LIST`, hackbench `:groups=N` `:loops=N`, disk and files `:FOLDER`\n\
Other programs: stress-ng:CLASS or stress-ng:STRESSOR, hackbench-program:OPTIONS, cmd:'COMMAND'\n\n\
Examples:\n  \
howlate load pipe --duration 10s\n  \
howlate load cpu:50% disk:/var/tmp --load-cpus 0\n  \
howlate load hackbench:groups=4:loops=1000\n  \
howlate load stress-ng:pipe \"cmd:'ping -q -f localhost'\"")]
pub struct LoadArgs {
    /// Loads that run side by side
    #[arg(required = true, value_name = "LOAD")]
    pub loads: Vec<OneLoad>,
    /// End after this time [default: with Ctrl-C]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub duration: Option<Span>,
    /// CPUs to bind the load to, such as 0-1,3 [default: all]
    #[arg(long, value_name = "LIST")]
    pub load_cpus: Option<CpuSet>,
    /// How it is printed.
    #[command(flatten)]
    pub printing: PrintArgs,
}
