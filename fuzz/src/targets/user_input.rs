//! What users write: values of options, plan files, command lines of cyclictest.

use std::fmt::Display;
use std::str::FromStr;

use howlate_model::{CpuSet, Limit, Load, LoadList, Notifier, Policy, Sleeper, Span, Wait};
use howlate_plan::PlanFile;
use howlate_rt_tests::Compat;
use howlate_rt_tests::cyclictest::{CpuMasks, CyclictestRequest, conditions, parse, preamble, turn};

use crate::{Target, corpus};

/// Durations, CPU lists, policies, loads, limits, ways to sleep and to notify.
pub(crate) const VALUES: Target = Target { name: "values", seeds: values, body: read_values };

pub(crate) const PLAN: Target = Target { name: "plan", seeds: plans, body: read_plan };

/// Arguments separated by NUL bytes.
pub(crate) const CYCLICTEST: Target =
    Target { name: "cyclictest", seeds: cyclictest_arguments, body: read_cyclictest };

fn values() -> Vec<Vec<u8>> {
    let texts = [
        "1h 30m",
        "1.5ms",
        "0-3,8",
        "deadline:200us/1ms",
        "fifo:80",
        "nice:-20",
        "cpu:50%+cmd:'dd if=/dev/zero'",
        "stress-ng:vm@0-1",
        "hackbench-program:'-g 5',idle",
        "p99.9>50us",
        "missed>0",
        "clock_nanosleep",
        "./my-probe",
        "futex",
        "disk:/var/tmp:20%",
    ];
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn read_values(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    check_round_trip::<Span>(text);
    check_round_trip::<CpuSet>(text);
    check_round_trip::<Policy>(text);
    check_round_trip::<Load>(text);
    check_round_trip::<Limit>(text);
    check_round_trip::<Wait>(text);
    check_round_trip::<Notifier>(text);
    drop(text.parse::<LoadList>());
    // The path of a probe is leaked into a `&'static`: without this check, every input with a slash would be.
    if !text.contains('/') {
        check_round_trip::<Sleeper>(text);
    }
}

/// A value that was parsed is parsed again from its own text, and has that text.
fn check_round_trip<T: FromStr + Display>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        let printed = value.to_string();
        let is_same = printed.parse::<T>().is_ok_and(|reparsed| reparsed.to_string() == printed);
        assert!(is_same, "{text:?} became {printed:?}");
    }
}

fn plans() -> Vec<Vec<u8>> {
    corpus::folder("plans")
}

fn read_plan(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Err(error) = PlanFile::parse(text) {
        assert!(error.line <= 1 + text.matches('\n').count(), "{error}");
    }
}

fn cyclictest_arguments() -> Vec<Vec<u8>> {
    let lines = [
        "-p80 -i1000 -l1000 -t4 -a0-1 -m -q -h400",
        "--compat=2.4 --smp --priority=99 --interval=200 --distance 500 --duration=1m --json=x.json",
        "-S -p 95 -D 10s -H 100 --histfile=x -b 50 --tracemark -n --policy=rr",
        "-a !0 -t -d0 -R -M -v -o 3 -u -N --secaligned 5 --spike=100 --spike-nodes 7 --latency=5",
        "-c 1 -x --rtprio -F fifo -s --default-system --deepest-idle-state=1 --mainaffinity=+0",
    ];
    lines.iter().map(|line| line.replace(' ', "\0").into_bytes()).collect()
}

fn read_cyclictest(input: &[u8]) {
    let arguments: Vec<String> =
        input.split(|byte| *byte == 0).map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect();
    let masks = CpuMasks { configured: 8, online: 8, allowed: (0..6).collect(), bindable: (0..7).collect() };
    let Ok(CyclictestRequest { options, warnings }) = parse(&arguments, &masks, Compat::default()) else {
        return;
    };
    drop(format!("{warnings:?}"));
    let turn = turn(&options, &masks);
    assert!(conditions(&turn, "6.1.0").len() == turn.tasks.len());
    let cpus: Vec<Option<u32>> = turn.tasks.iter().map(|task| task.cpu).collect();
    drop(preamble(&options, &masks, &cpus));
}
