//! Command lines of cyclictest.

use howlate_rt_tests::Compat;
use howlate_rt_tests::cyclictest::{CpuMasks, Request, conditions, preamble, read, turn};

use crate::Target;

pub(crate) const TARGET: Target = Target { name: "cyclictest", seeds, body };

fn seeds() -> Vec<Vec<u8>> {
    let lines = [
        "-p80 -i1000 -l1000 -t4 -a0-1 -m -q -h400",
        "--compat=2.4 --smp --priority=99 --interval=200 --distance 500 --duration=1m --json=x.json",
        "-S -p 95 -D 10s -H 100 --histfile=x -b 50 --tracemark -n --policy=rr",
        "-a !0 -t -d0 -R -M -v -o 3 -u -N --secaligned 5 --spike=100 --spike-nodes 7 --latency=5",
        "-c 1 -x --rtprio -F fifo -s --default-system --deepest-idle-state=1 --mainaffinity=+0",
    ];
    lines.iter().map(|line| line.replace(' ', "\0").into_bytes()).collect()
}

fn body(input: &[u8]) {
    let words: Vec<String> =
        input.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let masks = CpuMasks { configured: 8, online: 8, allowed: (0..6).collect(), bindable: (0..7).collect() };
    let Ok(Request { options, warnings }) = read(&words, &masks, Compat::default()) else { return };
    drop(format!("{warnings:?}"));
    let turn = turn(&options, &masks);
    assert!(conditions(&turn, "6.1.0").len() == turn.tasks.len());
    let cpus: Vec<Option<u32>> = turn.tasks.iter().map(|task| task.cpu).collect();
    drop(preamble(&options, &masks, &cpus));
}
