//! Tables of an artificial machine.

use howlate_analyse::waits::{CpuHolderTime, WaitNature, WaitReason, WaitSum, WaitTotal};
use howlate_model::TracerRefusal;

use super::*;

fn wait(kind: WaitKind, at: &str, count: u64, ms: u64, of_ms: u64) -> WaitTotal {
    let time = Span::from_millis(ms);
    let sum = WaitSum { time, count, whole: time, longest: time, looked_at: 1, ongoing: 0 };
    let share = ms as f64 / of_ms as f64;
    let functions = if at.is_empty() { Vec::new() } else { vec!["schedule".into(), "inside".into()] };
    WaitTotal { reason: WaitReason { kind, at: at.into() }, sum, share, behind: Vec::new(), functions }
}

fn waiter(pid: u32, name: &str, waits: Vec<WaitTotal>) -> WaiterTotals {
    let (tid, of_kernel, threads, ended) = (None, name.starts_with('k'), 1, 0);
    let seen = Span::from_secs(5);
    WaiterTotals { pid: Some(pid), tid, name: name.into(), of_kernel, threads, ended, seen, waits }
}

/// A hog behind another, a disk, a pipe, a sleeper, and two kernel threads.
fn machine() -> TopReport {
    let mut cpu = wait(WaitKind::Cpu, "", 600, 2_500, 5_000);
    cpu.behind = vec![
        CpuHolderTime { name: "hog".into(), pid: Some(12), time: Span::from_millis(2_450) },
        CpuHolderTime { name: String::new(), pid: None, time: Span::from_millis(50) },
    ];
    let processes = vec![
        waiter(11, "hog", vec![cpu]),
        waiter(13, "dd", vec![wait(WaitKind::Disk, "bringing a file to disk (fsync)", 9, 4_000, 5_000)]),
        waiter(14, "cat\x1b[2J", vec![wait(WaitKind::Pipe, "reading a pipe", 3, 4_900, 5_000)]),
        waiter(15, "sleep", vec![wait(WaitKind::Timer, "sleeping", 1, 5_000, 5_000)]),
        waiter(2, "kthreadd", vec![wait(WaitKind::Idle, "without work", 1, 5_000, 5_000)]),
        waiter(16, "quiet", vec![wait(WaitKind::Lock, "a mutex of the kernel", 1, 1, 5_000)]),
    ];
    let threads: Vec<WaiterTotals> =
        processes.iter().map(|process| WaiterTotals { tid: process.pid, ..process.clone() }).collect();
    let table = WaitTable { processes, threads, ..WaitTable::default() };
    TopReport {
        source: "bpf",
        refused: None,
        lasted: Span::from_secs(5),
        cpus: 2,
        table,
        groups: HashMap::new(),
    }
}

fn plain(view: &TopView) -> String {
    anstream::adapter::strip_str(&machine().text(view, 100)).to_string()
}

#[test]
fn what_holds_up_comes_last_and_what_has_no_work_in_one_line() {
    let text = plain(&TopView::default());
    let text_of_all = plain(&TopView { details: true, ..TopView::default() });
    assert!(text_of_all.find("sleeping") < text_of_all.find("reading a pipe"), "{text_of_all}");
    assert!(
        !text.contains("sleeping") && text.contains("1 wait of threads that sleep or are idle"),
        "{text}"
    );
    let places: Vec<usize> =
        ["reading a pipe", "dd", "hog"].map(|word| text.find(&format!(" {word}")).unwrap()).into();
    assert!(places.is_sorted(), "{text}");
    assert!(text.contains("CPU, behind hog 12 (98 %)"), "{text}");
    assert!(text.contains("1 thread of the kernel had no work.") && !text.contains("kthreadd"), "{text}");
    assert!(!text.contains("quiet"), "below a thousandth of its time: {text}");
    assert!(text.contains("5 of 15 waits"), "{text}");
    assert!(!text.contains('\x1b'), "{text}");
}

#[test]
fn threads_of_the_kernel_that_were_not_sampled_have_no_row() {
    let mut top = TopReport { source: "proc", ..machine() };
    top.table.processes.push(waiter(17, "kcompactd0", vec![wait(WaitKind::NotSeen, "", 4, 5_000, 5_000)]));
    let text = anstream::adapter::strip_str(&top.text(&TopView::default(), 100)).to_string();
    assert!(text.contains("2 threads of the kernel had no work, according to its accounts."), "{text}");
    assert!(!text.contains("kcompactd0"), "{text}");
}

#[test]
fn what_a_crowd_waits_for_fits_forty_lines() {
    let mut top = machine();
    let templates = top.table.processes.clone();
    let crowd = (100..300).map(|pid| WaiterTotals {
        pid: Some(pid),
        name: format!("a-{pid}-long-name"),
        ..templates[pid as usize % 6].clone()
    });
    top.table.processes.extend(crowd);
    for (by, width) in
        [(TopBy::Process, 80), (TopBy::Process, 120), (TopBy::Culprit, 80), (TopBy::Culprit, 120)]
    {
        let text = top.text(&TopView { by, ..TopView::default() }, width);
        assert!(text.lines().count() <= 40, "{by:?} {width}: {text}");
    }
}

#[test]
fn one_process_is_shown_whole_with_its_places() {
    for process in ["16", "quiet"] {
        let text = plain(&TopView { process: Some(process.into()), ..TopView::default() });
        assert!(text.contains("a mutex of the kernel") && text.contains("schedule < inside"), "{text}");
        assert!(!text.contains("hog"), "{text}");
    }
    let text = plain(&TopView { process: Some("nobody".into()), ..TopView::default() });
    assert!(text.contains("No process `nobody` was seen."), "{text}");
    assert!(is_called("ros2_control_no", "ros2_control_node") && !is_called("ros", "ros2"));
}

#[test]
fn an_order_without_natures_is_one_table_and_kinds_choose() {
    let view = TopView {
        order: WaitOrder::Time,
        kinds: vec![WaitKind::Timer, WaitKind::Pipe],
        ..TopView::default()
    };
    let text = plain(&view);
    assert!(text.find("sleeping") < text.find("reading a pipe") && !text.contains("Held up"), "{text}");
    assert!(!text.contains("dd"), "{text}");
}

#[test]
fn a_filter_leaves_the_rows_in_which_it_stands() {
    let rows = |filter: &str| {
        let text = plain(&TopView { filter: filter.into(), ..TopView::default() });
        ["behind hog", "fsync", "reading a pipe", "sleeping"].map(|word| text.contains(word))
    };
    assert_eq!(rows("DISK"), [false, true, false, false]);
    assert_eq!(rows("hog"), [true, false, false, false]);
    assert_eq!(rows("15"), [false, false, false, true]);
    let none = plain(&TopView { filter: "nobody\x1b".into(), ..TopView::default() });
    assert!(none.contains("no rows match `nobody\\u{1b}`"), "{none}");
}

#[test]
fn the_keys_say_what_is_chosen() {
    let view = TopView { order: WaitOrder::Mean, filter: "cat".into(), ..TopView::default() };
    let keys = view.keys(false, 100);
    assert!(keys.contains(&crate::style::paint(crate::style::BOLD, "m mean")), "{keys}");
    assert!(
        keys.contains("/ filter cat") && !keys.contains(&crate::style::paint(crate::style::BOLD, "t time")),
        "{keys}"
    );
    assert!(view.keys(true, 100).starts_with("/cat_"));
}

#[test]
fn little_room_leaves_rows_out_and_says_so() {
    let mut top = machine();
    let process = top.table.processes[1].clone();
    top.table.processes.extend((100..130).map(|pid| WaiterTotals { pid: Some(pid), ..process.clone() }));
    let text = top.text(&TopView { rows: Some(24), ..TopView::default() }, 100);
    assert!(text.contains("30 more: `--details`."), "{text}");
}

#[test]
fn where_lines_are_short_each_row_says_who_waits_and_for_what() {
    let text = machine().text(&TopView::default(), 44);
    let text = anstream::adapter::strip_str(&text).to_string();
    let disk = "  dd, pid 13 · disk: bringing a file to disk (fsync)";
    assert!(text.lines().any(|line| disk.starts_with(line) && line.contains("dd, pid 13 · disk")), "{text}");
    assert!(!text.lines().any(|line| line.chars().count() > 44), "{text}");
    // Rows of two lines share the room of rows of one.
    let mut top = machine();
    let process = top.table.processes[1].clone();
    top.table.processes.extend((100..130).map(|pid| WaiterTotals { pid: Some(pid), ..process.clone() }));
    let text = top.text(&TopView { rows: Some(36), ..TopView::default() }, 44);
    assert!(text.contains("29 more: `--details`."), "{text}");
}

#[test]
fn what_was_lost_is_said() {
    let mut top = machine();
    top.table.lost.unseen = 7;
    let text = top.text(&TopView::default(), 100);
    assert!(text.contains("7 waits were not seen"), "{text}");
}

#[test]
fn what_proc_cannot_tell_is_said() {
    let top = TopReport { source: "proc", refused: Some(TracerRefusal::NotPermitted), ..machine() };
    let text = top.text(&TopView::default(), 100);
    assert!(text.contains("Tracer bpf: not permitted: run as root,"), "{text}");
    assert!(text.contains("lower bound") && text.contains("sampled"), "{text}");
}

#[test]
fn machines_read_the_same() {
    let read = |view: &TopView| -> serde_json::Value {
        serde_json::from_str(&machine().json(view).unwrap()).unwrap()
    };
    let all = read(&TopView::default());
    assert_eq!(all["processes"].as_array().unwrap().len(), 6, "nothing is left out");
    let cpu = &all["processes"][0]["waits"][0];
    assert_eq!(
        (&cpu["kind"], &cpu["nature"], &cpu["count"]),
        (&"cpu".into(), &"held_up".into(), &600.into())
    );
    assert_eq!((&cpu["behind"][0]["name"], &cpu["behind"][0]["pid"]), (&"hog".into(), &12.into()));
    assert!(all["threads"].is_null());
    let dd = read(&TopView { process: Some("dd".into()), ..TopView::default() });
    assert_eq!(dd["threads"][0]["tid"], 13);
    assert_eq!(dd["processes"].as_array().unwrap().len(), 1);
}

#[test]
fn a_narrow_terminal_is_told_less_of_rivals_and_keeps_each_row_in_one_line() {
    let mut cpu = wait(WaitKind::Cpu, "", 317, 2_500, 5_000);
    let rival =
        |name: &str, ms| CpuHolderTime { name: name.into(), pid: Some(23_530), time: Span::from_millis(ms) };
    cpu.behind = vec![rival("ksoftirqd/0", 2_000), rival("long-name-of-it", 400)];
    let mut machine = machine();
    machine.table.processes = vec![waiter(23_531, "long-name-of-me", vec![cpu])];
    let at = |width| anstream::adapter::strip_str(&machine.text(&TopView::default(), width)).to_string();
    assert!(
        at(160).contains("CPU, behind ksoftirqd/0 23530 (80 %), long-name-of-it 23530 (16 %)"),
        "{}",
        at(160)
    );
    assert!(at(100).contains("CPU, behind ksoftirqd/0 23530 (80 %)"), "{}", at(100));
    assert!(at(80).contains("CPU, behind ksoftirqd/0 "), "{}", at(80));
    for width in [160, 100, 80] {
        assert_eq!(at(width).matches("waits for").count(), 2, "heading and title: {}", at(width));
    }
}

#[test]
fn a_wait_for_a_quota_blames_no_process() {
    let mut top = machine();
    let behind = &mut top.table.processes[0].waits[0].behind;
    behind[1] = CpuHolderTime { name: "(quota)".into(), pid: None, time: Span::from_millis(2_000) };
    behind[0].time = Span::from_millis(500);
    behind.reverse();
    let text = anstream::adapter::strip_str(&top.text(&TopView::default(), 120)).to_string();
    assert!(text.contains("CPU, quota of its group used up (80 %), behind hog 12 (20 %)"), "{text}");
    let narrow = anstream::adapter::strip_str(&top.text(&TopView::default(), 80)).to_string();
    assert!(narrow.contains("CPU, quota of its group used up"), "{narrow}");
}

/// The machine with the hog and dd in services.
fn with_groups() -> TopReport {
    let groups = [(11, "/system.slice/a.service"), (13, "/system.slice/a.service/sub"), (14, "/user.slice")];
    TopReport { groups: groups.map(|(pid, path)| (pid, path.to_owned())).into(), ..machine() }
}

#[test]
fn rows_are_of_processes_groups_and_culprits() {
    let names = |by, group: Option<&str>| -> Vec<String> {
        let view = TopView { by, group: group.map(str::to_owned), ..TopView::default() };
        with_groups().rows(&view, false).into_iter().map(|row| row.name).collect()
    };
    assert_eq!(names(TopBy::Process, None)[..2], ["dd", "hog"], "what is held up comes first, longest first");
    assert!(!names(TopBy::Process, None).contains(&"sleep".to_owned()), "it waits as it asked to");
    assert_eq!(names(TopBy::Group, None).len(), 3);
    assert_eq!(names(TopBy::Process, Some("/system.slice")).len(), 2);
    assert_eq!(names(TopBy::Process, Some("system.slice/a.serv")).len(), 0, "no part of a name");
    let nobody = with_groups().text(&TopView { group: Some("/nosuch".into()), ..TopView::default() }, 100);
    assert!(nobody.contains("No process is in the control group `/nosuch`."), "{nobody}");
    assert_eq!(names(TopBy::Culprit, None), ["hog", "an idle CPU that woke up"]);
}

#[test]
fn idle_waits_are_shown_when_asked_and_what_only_runs_has_a_row() {
    let mut top = machine();
    top.table.processes.push(waiter(17, "burner", vec![]));
    let rows = |idle| top.rows(&TopView::default(), idle);
    let row_named = |rows: &[TopRow], name: &str| rows.iter().find(|row| row.name == name).cloned();
    assert!(row_named(&rows(false), "sleep").is_none());
    assert_eq!(row_named(&rows(true), "sleep").unwrap().nature, Some(WaitNature::AsAsked));
    let burner = row_named(&rows(false), "burner").unwrap();
    assert_eq!((burner.what.as_str(), burner.nature), ("runs", None));
    assert!((burner.cpu.unwrap() - 1.0).abs() < 1e-9);
    let hog = row_named(&rows(false), "hog").unwrap();
    assert!((hog.cpu.unwrap() - 0.5).abs() < 1e-9, "5 s seen, of which it waited 2.5 s");
}

#[test]
fn culprits_have_a_table_of_their_own() {
    let text = plain(&TopView { by: TopBy::Culprit, ..TopView::default() });
    assert!(text.contains("culprit") && text.contains("held up"), "{text}");
    let row = text.lines().find(|line| line.contains("12")).unwrap();
    assert!(row.contains("hog 11") && row.contains("98 %"), "{text}");
    let mut crowded = machine();
    let waiter_of = crowded.table.processes[0].clone();
    let name = |pid: u32| format!("a-long-name-{pid}");
    crowded.table.processes.extend((100..130).map(|pid| WaiterTotals {
        pid: Some(pid),
        name: name(pid),
        ..waiter_of.clone()
    }));
    let view = TopView { by: TopBy::Culprit, ..TopView::default() };
    let text = anstream::adapter::strip_str(&crowded.text(&view, 95)).to_string();
    assert!(
        text.lines().any(|line| line.starts_with("  hog ") && line.contains(" more ") && line.contains('%')),
        "{text}"
    );
}
