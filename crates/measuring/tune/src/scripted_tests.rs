//! Search settings on a scripted machine: every look and every step, with the same numbers each time.

use std::path::Path;

use howlate_analyse::compare::{Statistic, Track};
use howlate_model::{
    Block, Caveat, Condition, Line, MonotonicTime, OsError, Policy, SettingRefusal, Span, Task, Turn,
    TurnFinished, Wait, Wakeup, Work,
};
use howlate_plan::{Plan, Trials};
use howlate_procfs::Root;
use howlate_recording::Reader;
use howlate_render::{self as render, TrialStatus, TunedProgram};
use howlate_session::{AdaptivePlan, AdaptiveStep, replay};
use howlate_system::settings::{Change, TunableState, TunableStatus, Writes, find};

use crate::candidates::{TuneCandidate, TuneCandidates};
use crate::options::TuneOptions;
use crate::report;
use crate::search::Search;
use crate::thread_facts::ThreadFacts;

fn testdata(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata").join(path)
}

/// A periodic thread beside busy ones.
fn condition() -> Condition {
    let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
    Condition { load: "cpu".parse().unwrap(), ..Condition::new(work, "6.18.44") }
}

fn trials() -> Trials {
    let condition = condition();
    let task = Task { samples: Some(150), ..Task::from_condition(0, &condition) };
    let turn = Turn {
        tasks: vec![task],
        load: condition.load.clone(),
        duration: None,
        cut_after: None,
        estimate: Span::from_millis(150),
    };
    let plan = Plan { conditions: vec![condition], turns: vec![turn], left_out: Vec::new() };
    Trials::from_plan(plan, 3).unwrap()
}

/// A machine with timer slack, and with busy threads that delay normal threads.
struct ScriptedMachine {
    random: fastrand::Rng,
    now: MonotonicTime,
    /// A file that cannot be written while another setting is in force.
    refused_in_combination: Option<&'static str>,
    /// A file whose new value delays wake-ups.
    hurts: Option<&'static str>,
    /// Number of machine settings that delay wake-ups while not in force.
    settings: u64,
}

impl ScriptedMachine {
    fn new(settings: u64, refused_in_combination: Option<&'static str>) -> Self {
        let (random, now) = (fastrand::Rng::with_seed(1), MonotonicTime::from_nanos(0));
        Self { random, now, refused_in_combination, hurts: None, settings }
    }
}

impl ScriptedMachine {
    fn take(&mut self, turn: &Turn, conditions: &[Condition]) -> Vec<Line> {
        let task = &turn.tasks[0];
        let mut lines: Vec<Line> = self.refuse(&conditions[task.condition as usize]).into_iter().collect();
        let (condition, round) = (task.condition, task.round);
        let mut block = Block { condition, round, from: self.now, ..Block::default() };
        for _ in 0..task.samples.unwrap_or_default() {
            self.now = self.now.plus(Span::from_millis(1));
            let late = self.late(&conditions[condition as usize]);
            block.record(Wakeup { expected: self.now, ran: self.now.plus(late) }, None);
        }
        block.until = self.now;
        lines.push(Line::Block(Box::new(block)));
        let (usage, load, error) = (None, None, None);
        let at = self.now;
        lines.push(Line::Finished(TurnFinished {
            condition,
            round,
            at,
            usage,
            unfinished: false,
            load,
            error,
        }));
        lines
    }

    fn refuse(&self, condition: &Condition) -> Option<Line> {
        let settings = condition.tuned.as_ref().map_or(0, |tuned| tuned.knobs.len());
        let path = self.refused_in_combination.filter(|_| settings > 1)?;
        let (setting, asked) = (path.to_owned(), "0".to_owned());
        let reason = SettingRefusal::Kernel(OsError(16)).into();
        Some(Line::Caveat(Caveat::SettingLeftOut { setting, asked, reason }))
    }

    /// How late a wake-up is.
    fn late(&mut self, condition: &Condition) -> Span {
        let is_real_time = condition.policy.is_realtime();
        let has_slack = !is_real_time
            && condition.slack_ns.is_none()
            && condition.work.wait().is_some_and(Wait::has_slack);
        let has_priority = condition.policy != Policy::OTHER
            || condition.tuned.as_ref().is_some_and(|tuned| tuned.slice.is_some());
        let slack = if has_slack { 50_000 } else { 0 };
        let wait = if !has_priority && self.random.u8(..20) == 0 {
            self.random.u64(2_000_000..2_100_000)
        } else {
            0
        };
        let writes = || condition.tuned.iter().flat_map(|tuned| &tuned.writes);
        let hurting =
            writes().filter(|write| self.hurts.is_some_and(|path| write.path == path)).count() as u64;
        let missing = self.settings + 2 * hurting - writes().count() as u64;
        Span::from_nanos(10_000 + 40_000 * missing + slack + wait + self.random.u64(..6_000))
    }
}

/// Options for thread settings, with more time than any decision needs.
fn options() -> TuneOptions {
    let (goal, budget) = (Statistic::P99, Span::from_secs(3_600));
    TuneOptions { knobs: vec!["thread".parse().unwrap()], goal, budget, beside_tuners: false }
}

/// Everything that is found of settings of a thread, on the machine that a captured tree shows.
fn search_thread_settings(machine: &mut ScriptedMachine) -> (String, String) {
    let (trials, options) = (trials(), options());
    let candidates =
        TuneCandidates::list(&Root::at(testdata("systems/rt-kernel")), &options.knobs, trials.base(), None);
    search_result(machine, trials, &candidates, &options)
}

/// Text and JSON of a search over these settings.
fn search_result(
    machine: &mut ScriptedMachine,
    trials: Trials,
    candidates: &TuneCandidates,
    options: &TuneOptions,
) -> (String, String) {
    let mut search = Search::new(trials, candidates, options);
    let mut track = track_of(&search);
    let first = search.next(&track);
    run_steps(first, &mut search, &mut track, |turn, conditions| machine.take(turn, conditions));
    rendered(candidates, &search, &track)
}

/// A recording without turns.
fn track_of(search: &Search) -> Track {
    let mut header = Reader::open(&testdata("recordings/v1/cyclic.jsonl")).unwrap().header().clone();
    header.conditions = search.conditions().to_vec();
    Track::new(header)
}

/// Takes all steps from `step` on; returns what is recorded.
fn run_steps(
    mut step: Option<AdaptiveStep>,
    search: &mut Search,
    track: &mut Track,
    mut take: impl FnMut(&Turn, &[Condition]) -> Vec<Line>,
) -> Vec<Line> {
    let mut recorded = Vec::new();
    while let Some(AdaptiveStep { conditions, turns }) = step {
        let mut keep = |track: &mut Track, line: Line| {
            track.add(&line);
            recorded.push(line);
        };
        conditions.into_iter().for_each(|condition| keep(track, Line::Condition(Box::new(condition))));
        let conditions = track.analysis.header.conditions.clone();
        turns.iter().flat_map(|turn| take(turn, &conditions)).for_each(|line| keep(track, line));
        step = search.next(track);
    }
    recorded
}

fn rendered(candidates: &TuneCandidates, search: &Search, track: &Track) -> (String, String) {
    let report = report::build(candidates, search, track);
    let text = render::tune_text(&report, render::Detail::Full, 100);
    (anstream::adapter::strip_str(&text).to_string(), render::tune_json(&report).unwrap())
}

#[test]
fn each_step_says_its_stage_and_the_time_that_is_left_for_all() {
    use howlate_render::TuneStage::{Confirming, Joining, Screening, SelfTest};
    let (mut machine, options) = (ScriptedMachine::new(0, None), options());
    let candidates =
        TuneCandidates::list(&Root::at(testdata("systems/rt-kernel")), &options.knobs, trials().base(), None);
    let mut search = Search::new(trials(), &candidates, &options);
    let mut track = track_of(&search);
    let mut stages_seen: Vec<render::Stage> = Vec::new();
    while let Some(AdaptiveStep { conditions, turns }) = search.next(&track) {
        stages_seen.push(search.stage());
        conditions.into_iter().for_each(|condition| track.add(&Line::Condition(Box::new(condition))));
        let conditions = track.analysis.header.conditions.clone();
        turns.iter().flat_map(|turn| machine.take(turn, &conditions)).for_each(|line| track.add(&line));
    }
    let mut stages: Vec<render::TuneStage> = stages_seen.iter().map(|stage| stage.which).collect();
    stages.dedup();
    assert_eq!(stages, [SelfTest, Screening, Joining, Confirming]);
    assert_eq!(stages_seen[0].left, options.budget);
    assert!(stages_seen.windows(2).all(|two| two[1].left < two[0].left && two[1].whole == options.budget));
}

#[test]
fn what_is_found_reads_like_this() {
    let (text, json) = search_thread_settings(&mut ScriptedMachine::new(0, None));
    insta::assert_snapshot!("tune-text", text);
    insta::assert_snapshot!("tune-json", json);
}

/// What was found fits a screen of 80 columns, and the answer is at its end.
#[test]
fn the_answer_is_on_the_last_screen() {
    let options = options();
    let candidates =
        TuneCandidates::list(&Root::at(testdata("systems/rt-kernel")), &options.knobs, trials().base(), None);
    let (mut machine, mut search) =
        (ScriptedMachine::new(0, None), Search::new(trials(), &candidates, &options));
    let mut track = track_of(&search);
    let first = search.next(&track);
    run_steps(first, &mut search, &mut track, |turn, conditions| machine.take(turn, conditions));
    let report = report::build(&candidates, &search, &track);
    let text = render::tune_text(&report, render::Detail::Brief, 80);
    let text = anstream::adapter::strip_str(&text).to_string();
    insta::assert_snapshot!("tune-brief", text);
    let lines: Vec<&str> = text.lines().collect();
    let answer = lines.iter().position(|line| line.starts_with("One setting helps here, fifo")).unwrap();
    assert!(lines.len() <= 40 && lines.len() - answer <= 24, "{text}");
}

/// What helped one thread, set for all threads of its program, was seen to help nobody, or to harm.
#[test]
fn what_helped_a_thread_is_for_that_thread() {
    let (options, mut machine) = (options(), ScriptedMachine::new(0, None));
    let facts = ThreadFacts::of_thread(std::process::id(), 1).for_chosen_threads(vec![4711]);
    let candidates = TuneCandidates::list(
        &Root::at(testdata("systems/rt-kernel")),
        &options.knobs,
        trials().base(),
        Some(&facts),
    );
    let mut search = Search::new(trials(), &candidates, &options);
    let mut track = track_of(&search);
    let first = search.next(&track);
    run_steps(first, &mut search, &mut track, |turn, conditions| machine.take(turn, conditions));
    let program = TunedProgram {
        name: "svc".into(),
        pid: 4_700,
        threads: 1,
        chosen: vec!["worker".into()],
        compared: vec![howlate_model::Activation::Timer],
        turn_ns: Span::from_millis(150),
        wakeups_per_turn: 150,
    };
    let report = render::TuneReport { program: Some(program), ..report::build(&candidates, &search, &track) };
    let text = render::tune_text(&report, render::Detail::Brief, 80);
    let text = anstream::adapter::strip_str(&text).to_string();
    assert!(text.contains("To set fifo for thread worker alone"), "{text}");
    assert!(text.contains("chrt --reset-on-fork --fifo -p 80 4711"), "{text}");
    assert!(text.contains("SCHED_RESET_ON_FORK") && text.contains("systemd has no such setting"), "{text}");
    assert!(!text.contains("./my-program") && !text.contains("CPUSchedulingPolicy=fifo"), "{text}");
    assert!(text.lines().count() <= 40, "{text}");
}

/// A file of the machine that holds 1 and is to hold 0.
fn machine_candidate(name: &str, path: &str) -> TuneCandidate {
    let (from, to) = ("1".to_owned(), "0".to_owned());
    let change = Some(Change::Files(Writes::to_known_file(path, "1", "0")));
    let state = TunableState { status: TunableStatus::Ready, from, to, change };
    TuneCandidate { tunable: find(name).unwrap(), state, fate: TrialStatus::Tried, permanent: Vec::new() }
}

/// Each helps, and both together more: but one of them is refused beside the other, so that nobody knows what helped more.
#[test]
fn a_set_of_which_one_setting_was_not_in_force_is_not_recommended() {
    let recommended = |refused| {
        let files = [("timer_migration", "/proc/sys/a"), ("numa_balancing", "/proc/sys/b")];
        let candidates =
            TuneCandidates { all: files.map(|(name, path)| machine_candidate(name, path)).into() };
        let (_, json) =
            search_result(&mut ScriptedMachine::new(2, refused), trials(), &candidates, &options());
        let result: serde_json::Value = serde_json::from_str(&json).unwrap();
        result["recommended"].as_array().unwrap().len()
    };
    assert_eq!(recommended(None), 2);
    assert_eq!(recommended(Some("/proc/sys/b")), 1);
    assert_eq!(recommended(Some("/proc/sys/a")), 1);
}

/// One setting helps by as much as the other hurts: the latter is found to hurt, and is in nothing that is advised.
#[test]
fn a_setting_that_hurts_is_found_to_and_never_advised() {
    let files = [("timer_migration", "/proc/sys/a"), ("numa_balancing", "/proc/sys/b")];
    let candidates = TuneCandidates { all: files.map(|(name, path)| machine_candidate(name, path)).into() };
    let mut machine = ScriptedMachine { hurts: Some("/proc/sys/b"), ..ScriptedMachine::new(1, None) };
    let (text, json) = search_result(&mut machine, trials(), &candidates, &options());
    let result: serde_json::Value = serde_json::from_str(&json).unwrap();
    let verdict = |name: &str| {
        let knobs = result["knobs"].as_array().unwrap();
        let knob = knobs.iter().find(|knob| knob["knob"] == name).unwrap();
        knob["differences"]["p99"]["verdict"].clone()
    };
    assert_eq!([verdict("timer_migration"), verdict("numa_balancing")], ["better", "worse"], "{json}");
    assert_eq!(result["recommended"], serde_json::json!(["timer_migration"]), "{text}");
    assert!(!result["answer"].as_str().unwrap().contains("numa_balancing"), "{text}");
}

/// After any turn it may be interrupted. The rest of its turns is what an unbroken run would have had, and so is all that it finds:
/// the time and the error that were spent stay spent.
#[test]
fn an_interrupted_run_decides_as_an_unbroken_one() {
    // So little that the time decides how often is looked, and for how long is confirmed.
    let options = TuneOptions { budget: Span::from_secs(150), ..options() };
    let candidates =
        TuneCandidates::list(&Root::at(testdata("systems/rt-kernel")), &options.knobs, trials().base(), None);
    let new_search = || Search::new(trials(), &candidates, &options);
    let (mut machine, mut search) = (ScriptedMachine::new(0, None), new_search());
    let mut track = track_of(&search);
    let first = search.next(&track);
    let recorded =
        run_steps(first, &mut search, &mut track, |turn, conditions| machine.take(turn, conditions));
    let whole = rendered(&candidates, &search, &track);
    let ends = (1..=recorded.len()).filter(|end| matches!(recorded[*end - 1], Line::Finished(_)));
    for end in ends.step_by(37).chain([0, recorded.len()]) {
        let mut search = new_search();
        let mut track = track_of(&search);
        let past = recorded[..end].iter().cloned().map(Ok);
        let step = replay(past, &mut track, &mut search).unwrap();
        let replayed = |turn: &Turn, _: &[Condition]| lines_of(turn, &recorded);
        let rest = run_steps(step, &mut search, &mut track, replayed);
        assert_eq!(rest, recorded[end..], "after {end} lines of {}", recorded.len());
        assert_eq!(rendered(&candidates, &search, &track), whole);
    }
}

fn lines_of(turn: &Turn, recorded: &[Line]) -> Vec<Line> {
    let (condition, round) = (turn.tasks[0].condition, turn.tasks[0].round);
    let is_of_turn = |line: &&Line| match line {
        Line::Block(block) => (block.condition, block.round) == (condition, round),
        Line::Finished(finished) => (finished.condition, finished.round) == (condition, round),
        _ => false,
    };
    recorded.iter().filter(is_of_turn).cloned().collect()
}

/// Turns of another run are not taken for its own.
#[test]
fn what_another_run_has_recorded_is_refused() {
    let options = options();
    let candidates =
        TuneCandidates::list(&Root::at(testdata("systems/rt-kernel")), &options.knobs, trials().base(), None);
    let mut search = Search::new(trials(), &candidates, &options);
    let mut track = track_of(&search);
    let foreign = TurnFinished {
        condition: 0,
        round: 999,
        at: MonotonicTime::from_nanos(1),
        usage: None,
        unfinished: false,
        load: None,
        error: None,
    };
    let past = [Ok(Line::Finished(foreign))];
    assert!(replay(past.into_iter(), &mut track, &mut search).is_err());
}
