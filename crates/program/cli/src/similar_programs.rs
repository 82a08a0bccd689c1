//! Hints for names of similar programs typed as commands: the command that answers the same question.

use howlate_model::shell_word;

/// Similar programs and the equivalent command; the first match counts, and names of two arguments come first.
const SIMILAR_PROGRAMS: [(&[&str], &str); 23] = [
    (
        &["rtla timerlat", "timerlat"],
        "how late a timer's thread wakes, and why: `howlate cyclic --policy fifo:95 --why`",
    ),
    (
        &["rtla osnoise", "osnoise"],
        "what is taken from a thread that asks for all of a CPU, and by whom: `howlate gaps`",
    ),
    (
        &["rtla hwnoise", "hwnoise", "hwlat", "hwlat_detector"],
        "what hardware and firmware take: `howlate gaps`, or `howlate hwlatdetect`, which acts as hwlatdetect",
    ),
    (&["rtla"], "`howlate cyclic --why` for timerlat, `howlate gaps` for osnoise"),
    (
        &["jitterdebugger", "jittertest", "realfeel", "schedutils"],
        "how late periodic threads wake, one on each CPU: `howlate cyclic --policy fifo:98`",
    ),
    (
        &["latency-test", "latency-histogram", "latency-plot"],
        "as LinuxCNC's, a servo thread and a base thread: `howlate cyclic --policy fifo:80 --period 1ms,100us`, then `howlate show --plot`",
    ),
    (
        &["latency", "xeno", "evl", "cobalt"],
        "how late a periodic thread wakes on this kernel: `howlate cyclic --policy fifo:80 --period 1ms`",
    ),
    (
        &["sysjitter", "jitter", "jHiccup", "jhiccup", "hiccup-meter"],
        "what a thread does not get of its CPU: `howlate gaps`",
    ),
    (
        &["runqlat", "runqlen", "runqslower", "schedtop"],
        "who waits for a CPU, and behind whom: `howlate top`; all of it, for weeks: `howlate record`",
    ),
    (&["offcputime", "offwaketime", "wakeuptime", "latencytop"], "what threads wait for: `howlate top`"),
    (
        &["perf sched", "perf"],
        "how late the threads of a program run, and why: `howlate watch PID`; of the whole machine: `howlate record`",
    ),
    (
        &["trace-cmd", "kernelshark", "ftrace", "perfetto", "magic-trace"],
        "what all CPUs did around the worst wake-ups: `howlate cyclic --why --keep 2s --out run.jsonl`, then `howlate show run.jsonl --format perfetto > late.pftrace`",
    ),
    (
        &["deadline_test", "deadlinetest"],
        "`howlate cyclicdeadline`, or `howlate cyclic --policy deadline:200us/1ms`",
    ),
    (
        &[
            "ptsematest",
            "svsematest",
            "sigwaittest",
            "pmqtest",
            "signaltest",
            "pip_stress",
            "schbench",
            "perf-bench",
        ],
        "how late a thread runs that another one notifies: `howlate notify`",
    ),
    (
        &["hackbench", "stress-ng", "stress", "pi_stress", "ssdd", "rteval"],
        "loads to measure beside: `howlate cyclic --load cpu,disk`; one alone: `howlate load cpu`",
    ),
    (&["queuelat"], "`howlate gaps` for the CPU, `howlate notify` for queues"),
    (
        &["rt-migrate-test", "migratetest"],
        "how late more threads than CPUs wake: `howlate cyclic --policy fifo:80 --threads 8`",
    ),
    (
        &["rtcqs", "realtimeconfigquickscan", "rtcheck", "rt-tests", "check-config"],
        "what of this machine makes wake-ups late, and what to type: `howlate doctor`",
    ),
    (
        &["tuned", "tuned-adm", "tuna", "rtkitctl"],
        "which settings help here, tried and put back: `howlate tune`",
    ),
    (
        &["turbostat", "cpupower", "powertop"],
        "idle states, frequencies, and what they cost: `howlate doctor`; tried: `howlate tune`",
    ),
    (
        &["strace", "ltrace", "gdb", "py-spy"],
        "how late a program's threads run, and why: `howlate watch PID`",
    ),
    (&["htop", "atop", "pidstat", "vmstat"], "who waits for a CPU, and behind whom: `howlate top`"),
    (
        &["sleep-test", "usleep", "nanosleep", "clock_nanosleep"],
        "how much longer a sleep lasts than asked: `howlate sleep --for 1ms`",
    ),
];

/// The equivalent of a similar program's command line; `None` if the program is not known.
pub(crate) fn hint(arguments: &[String]) -> Option<String> {
    let [first, rest @ ..] = arguments else { return None };
    let second = rest.first().map(|second| format!("{first} {second}"));
    let is_match =
        |name: &&&str| name.eq_ignore_ascii_case(first) || second.as_ref().is_some_and(|both| both == **name);
    let (_, equivalent) =
        SIMILAR_PROGRAMS.iter().find(|(names, _)| names.iter().any(|name| is_match(&name)))?;
    let program: Vec<String> = arguments.iter().map(shell_word).collect();
    Some(format!("{equivalent}; `howlate watch -- {}` watches that program itself", program.join(" ")))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn hint_for(line: &str) -> Option<String> {
        hint(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_neighbours_name_leads_to_the_command_that_answers_the_same() {
        for (line, command) in [
            ("timerlat hist", "`howlate cyclic --policy fifo:95 --why`"),
            ("rtla timerlat top -c 1", "`howlate cyclic --policy fifo:95 --why`"),
            ("rtla osnoise top", "`howlate gaps`"),
            ("osnoise", "`howlate gaps`"),
            ("jitterdebugger", "`howlate cyclic --policy fifo:98`"),
            ("latency-test 25000 1000000", "`howlate cyclic --policy fifo:80 --period 1ms,100us"),
            ("runqlat", "`howlate top`"),
            ("perf sched latency", "`howlate watch PID`"),
            ("rtla", "`howlate gaps`"),
        ] {
            assert!(
                hint_for(line).is_some_and(|hint| hint.contains(command)),
                "{line}: {:?}",
                hint_for(line)
            );
        }
        assert_eq!(hint_for("./my-program"), None);
    }

    /// Every quoted command that begins with `howlate` parses.
    #[test]
    fn what_is_told_is_understood() {
        for (names, equivalent) in SIMILAR_PROGRAMS {
            let commands =
                equivalent.split('`').skip(1).step_by(2).filter(|part| part.starts_with("howlate"));
            for command in commands {
                let words = command.split(" > ").next().unwrap_or_default().split(' ');
                let arguments = crate::expand_shorthand(words.map(|word| word.trim_matches('\'').into()));
                let parses = <crate::Cli as clap::Parser>::try_parse_from(arguments).is_ok();
                assert!(parses, "{names:?}: {command}");
            }
        }
    }

    #[test]
    fn no_command_of_ours_is_a_neighbours() {
        let program = super::super::Cli::command();
        let ours: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
        let taken = SIMILAR_PROGRAMS.iter().flat_map(|(names, _)| *names).find(|name| ours.contains(*name));
        assert_eq!(taken, None);
    }
}
