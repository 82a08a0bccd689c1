//! howlate in place of cyclicdeadline.
//!
//! All `SCHED_DEADLINE` threads share one bandwidth limit, so that these tests run one at a time.

use std::fs;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use howlate_linux::sched;
use howlate_model::Policy;
use howlate_procfs::{Root, threads};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common::{ForAnyone, skip, stderr, stdout, wait_until};
use crate::{last_cpu, shape, under_the_name};

/// Calls whose output is compared with the original's; with other periods it does not run on most machines.
const CALLS: [&str; 4] = [
    "-q -D 1 -i 10000",
    "-D 1s -i 10000",
    "-q --duration=1 --interval=10000 --threads 3 --step 1000",
    "-q -i 10000 -D 20 -b 1",
];

/// Calls whose exit status is compared.
const OTHERS: [&str; 4] = ["-h", "--nothing", "-a 4000", "-t -3"];

/// The lock, if threads may have deadlines here.
fn turn() -> Option<MutexGuard<'static, ()>> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut command, _folder) = under_the_name("cyclicdeadline");
    let output = command.args(["-q", "-b", "1", "-D", "1"]).output().unwrap();
    if output.status.success() {
        return Some(turn);
    }
    skip(&stderr(&output));
    None
}

/// Whether the compared version of Debian's cyclicdeadline is installed.
fn is_original_there() -> bool {
    let output = Command::new("cyclicdeadline").arg("-h").output();
    let there = output.is_ok_and(|output| stdout(&output).starts_with("cyclicdeadline V 2.40\n"));
    if !there {
        skip("no cyclicdeadline of rt-tests 2.4 is installed");
    }
    there
}

fn run(mut command: Command, call: &str) -> Output {
    command.args(call.split(' ')).output().unwrap()
}

/// The shapes of all lines, sorted: the order of threads and the widths of columns vary. A column that a large number fills
/// leaves no blank before it.
fn shapes(output: &Output) -> Vec<String> {
    let widths = regex::Regex::new("(:)? +").unwrap();
    let mut shapes =
        shape(&widths.replace_all(
            &stdout(output),
            |blanks: &regex::Captures| {
                if blanks.get(1).is_some() { ":" } else { " " }
            },
        ));
    shapes.sort();
    shapes.dedup();
    shapes
}

#[test]
fn text_and_status_are_those_of_the_original() {
    let Some(_turn) = turn() else { return };
    if !is_original_there() {
        return;
    }
    for call in CALLS {
        let (ours, _folder) = under_the_name("cyclicdeadline-2.4");
        let (ours, original) = (run(ours, call), run(Command::new("cyclicdeadline"), call));
        assert_eq!(shapes(&ours), shapes(&original), "{call}");
        assert_eq!(ours.status.code(), original.status.code(), "{call}");
    }
    for call in OTHERS {
        let (ours, _folder) = under_the_name("cyclicdeadline-2.4");
        let (ours, original) = (run(ours, call), run(Command::new("cyclicdeadline"), call));
        assert_eq!(ours.status.code(), original.status.code(), "{call}");
    }
}

/// The JSON file that a call writes.
fn json_of(mut command: Command, call: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c.json");
    let output = command.args(call.split(' ')).arg(format!("--json={}", file.display())).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    fs::read_to_string(&file).unwrap()
}

#[test]
fn json_has_the_lines_of_the_original() {
    let Some(_turn) = turn() else { return };
    if !is_original_there() {
        return;
    }
    let (ours, _link) = under_the_name("cyclicdeadline-2.4");
    let call = "-q -D 1 -i 10000 -t 2";
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().skip_while(|line| !line.contains("num_threads"));
        let keys = lines.map(|line| line.split_once(": ").map_or(line, |(key, _)| key).to_owned());
        keys.collect()
    };
    let (ours, original) = (json_of(ours, call), json_of(Command::new("cyclicdeadline"), call));
    assert_eq!(lines(&ours), lines(&original));
}

/// LAVA's test-definitions: numbers of each thread, and whether the test passed.
#[test]
fn lava_finds_its_numbers_at_the_period_that_the_original_refuses() {
    let Some(_turn) = turn() else { return };
    for name in ["cyclicdeadline-2.4", "cyclicdeadline", "cyclicdeadline-2.10"] {
        let (command, _folder) = under_the_name(name);
        // As its script calls it: an interval of 1 ms, and 500 us more for each thread.
        let text = json_of(command, "-q -i 1000 -s 500 -t 2 -D 1");
        let result: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&result["num_threads"], &result["return_code"]), (&2.into(), &0.into()));
        for thread in ["0", "1"] {
            let number = |key: &str| result["thread"][thread][key].as_f64().unwrap();
            assert!(number("cycles") > 0.0, "{text}");
            assert!(number("min") <= number("avg") && number("avg") <= number("max"), "{text}");
        }
    }
}

#[test]
fn newer_ones_tell_of_threads_only_if_they_are_asked() {
    let Some(_turn) = turn() else { return };
    let (command, _folder) = under_the_name("cyclicdeadline");
    let output = run(command, "-q -D 1 -i 10000");
    let lines = shape(&stdout(&output));
    let [all, row] = lines.as_slice() else { panic!("{lines:?}") };
    assert!(all == "Using all CPUS" && row.starts_with("T: N ("), "{row}");
    let (command, _folder) = under_the_name("cyclicdeadline");
    let message = stderr(&run(command, "-q -D 1 -i 10000 --verbose --debug"));
    for line in ["INFO: interval: 6000:10000", "DEBUG: main thread "] {
        assert!(message.lines().any(|message| message.starts_with(line)), "{line}: {message}");
    }
}

/// Threads of a process with a deadline.
fn with_deadlines(process: u32) -> Vec<u32> {
    let has = |tid: &u32| sched::policy(*tid).is_ok_and(|policy| matches!(policy, Policy::Deadline { .. }));
    threads(&Root::live(), process).into_iter().filter(has).collect()
}

/// Starts a call, and waits until its threads have deadlines.
fn start_call(call: &str, threads: usize) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_howlate"));
    command.arg("cyclicdeadline").args(call.split(' ')).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    wait_until("threads with deadlines", || with_deadlines(child.id()).len() == threads);
    child
}

/// Waits until a thread has been scheduled a few more times.
fn let_run(tid: u32) {
    let times = || {
        let account = fs::read_to_string(format!("/proc/{tid}/schedstat")).unwrap();
        account.split_whitespace().last().unwrap().parse::<u64>().unwrap()
    };
    let before = times();
    wait_until("a few periods", || times() > before + 3);
}

fn end(child: Child) -> Output {
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn ctrl_c_keeps_the_result_and_missed_periods_are_told_of() {
    let Some(_turn) = turn() else { return };
    let child = start_call("-q -i 10000", 1);
    let tid = with_deadlines(child.id())[0];
    let_run(tid);
    kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
    howlate_linux::clock::sleep_for(howlate_model::Span::from_millis(100)).unwrap();
    kill_process(Pid::from_child(&child), Signal::CONT).unwrap();
    let_run(tid);
    let output = end(child);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).lines().any(|line| line.starts_with("T: 0 (")), "{}", stdout(&output));
    assert!(stderr(&output).contains("WARN: thread 0 missed periods: "), "{}", stderr(&output));
}

#[test]
fn what_is_not_left_is_not_given_and_is_said() {
    let Some(_turn) = turn() else { return };
    // 60 % of all CPUs, twice.
    let threads = sched::bindable_cpus().unwrap().len();
    let call = format!("-q -i 10000 -s 0 -t {threads}");
    let first = start_call(&call, threads);
    let (second, _folder) = under_the_name("cyclicdeadline");
    let refused = run(second, &format!("{call} -D 1"));
    let first = end(first);
    assert!(first.status.success(), "{}", stderr(&first));
    if refused.status.success() {
        return skip("the kernel gives threads more than there is: its admission control is off");
    }
    let message = stderr(&refused);
    assert!(message.contains("asks for 60 % of a CPU, and not so much is left"), "{message}");
    assert!(message.contains("\nhint: "), "{message}");
}

#[test]
fn a_cpu_of_its_own_is_refused_in_words() {
    let Some(_turn) = turn() else { return };
    if sched::bindable_cpus().unwrap().len() < 2 {
        return skip("needs two CPUs");
    }
    let cpu = last_cpu();
    let (command, _folder) = under_the_name("cyclicdeadline");
    let output = run(command, &format!("-q -D 1 -t 1 -a {cpu}"));
    if output.status.success() {
        return skip("the kernel keeps such threads on CPUs: its admission control is off");
    }
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains(&format!("cannot be kept on CPUs {cpu}: ")), "{message}");
    assert!(message.contains("hint: leave the CPUs of `-a` out; or "), "{message}");
}

#[test]
fn without_root_it_says_what_it_needs() {
    let anyone = ForAnyone::new();
    let output = anyone.howlate(&["cyclicdeadline", "-D", "1"]).output().unwrap();
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("this user may not run threads under SCHED_DEADLINE"), "{message}");
    assert!(message.contains("hint: run it as root"), "{message}");
}

#[test]
fn lengths_that_the_kernel_does_not_take_are_refused_with_those_that_it_does() {
    let Some(_turn) = turn() else { return };
    let (command, _folder) = under_the_name("cyclicdeadline");
    let output = run(command, "-q -D 1 -i 10");
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("asks for 6 us in each 10 us; the kernel takes"), "{message}");
    assert!(message.contains("hint: `-i 1000`"), "{message}");
}
