//! `howlate run`: plans, errors in them, and interrupted runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::common::{Background, has_caveat, howlate, show_json, stderr, stdout};
use howlate_model::Line;
use howlate_recording::Reader;
use rustix::process::Signal;
use tempfile::TempDir;

/// A folder with one plan.
struct PlanFolder {
    folder: TempDir,
}

impl PlanFolder {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("plan.toml"), text).unwrap();
        Self { folder }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("plan.toml")
    }

    fn recording(&self) -> PathBuf {
        self.folder.path().join("plan.jsonl")
    }

    fn run(&self, options: &[&str]) -> Output {
        howlate(&["run", "plan.toml"]).args(options).current_dir(self.folder.path()).output().unwrap()
    }
}

/// The plan is refused with this message about this line.
#[track_caller]
fn assert_refused(text: &str, line: usize, says: &str) {
    let output = PlanFolder::new(text).run(&["--dry-run"]);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains(&format!("plan.toml line {line}: ")) && message.contains(says), "{message}");
}

#[test]
fn what_is_wrong_with_a_plan_is_told_with_its_line() {
    assert_refused("[[sleep]]\nfor = \"1ms\"\npolcy = \"other\"\n", 3, "did you mean `policy`?");
    assert_refused("[[slep]]\n", 1, "`slep` is not a plan command; did you mean `sleep`?");
    assert_refused("[[doctor]]\n", 1, "choose from sleep, cyclic, notify, guest");
    assert_refused("\n\n[[sleep]]\nfor = [\"1ms\", \"2\"]\n", 4, "`2` has no unit");
    assert_refused(
        "[[cyclic]]\nperiod = \"1ms\"\npolicy = [\"fifo:100\"]\n",
        3,
        "priority `100` is out of range",
    );
    assert_refused("[[cyclic]]\nthreads = 0\n", 2, "write a number from 1 to 1000");
    assert_refused("[[cyclic]]\npolicy = []\n", 2, "`policy` is empty");
    assert_refused("[[cyclic]]\nstaircase = \"yes\"\n", 2, "staircase");
    assert_refused("[[sleep]]\nseed = 7\n", 2, "for the whole run");
    assert_refused("samples = 7\n[[sleep]]\n", 1, "belongs into a table");
    assert_refused("[[sleep]]\nfor = [\"1ms\"\n", 2, "array");
    assert_refused(
        "[system]\ngovernr = \"performance\"\n[[sleep]]\n",
        2,
        "unknown setting `governr`; write `governor`",
    );
    assert_refused("[system]\n\"/etc/passwd\" = \"x\"\n[[sleep]]\n", 2, "below /sys or /proc/sys");
    assert_refused("[guest]\nkernel = \"debian:trixie:tr\"\n[[sleep]]\n", 2, "kernel");
    assert_refused("[guest]\n[[sleep]]\n", 1, "--kernel");
    assert_refused("seed = \"a\"\n[[sleep]]\n", 1, "seed");
}

#[test]
fn a_plan_may_try_settings() {
    let text = "[[tune.sleep]]\nfor = \"1ms\"\npolicy = \"other\"\nknobs = [\"nothing\", \"timer_slack\"]\ngoal = \"p50\"\nbudget = \"1us\"\n";
    let plan = PlanFolder::new(text);
    let listed = plan.run(&["--dry-run"]);
    assert_eq!(listed.status.code(), Some(0), "{}", stderr(&listed));
    assert!(
        stdout(&listed).contains("howlate tune --dry-run") && !plan.recording().exists(),
        "{}",
        stdout(&listed)
    );
    let tried = plan.run(&["--seed", "7", "--quiet", "--samples", "5"]);
    assert_eq!(tried.status.code(), Some(3), "{}", stderr(&tried));
    assert!(stdout(&tried).contains("The budget is too short"), "{}", stdout(&tried));
    let header = Reader::open(&plan.recording()).unwrap().header().clone();
    assert_eq!((header.command.name(), header.seed), ("tune", 7));
    let tuning = header.tuning.unwrap();
    assert_eq!((tuning.goal.as_str(), tuning.samples), ("p50", Some(5)));
    let again = plan.run(&[]);
    assert_eq!(again.status.code(), Some(2), "{}", stdout(&again));
    assert!(stderr(&again).contains("--resume"), "{}", stderr(&again));
    let done = plan.run(&["--resume", "--quiet", "--samples", "5"]);
    // Remarks on how busy the machine is may follow.
    let result_text = |output| stdout(output).split("\n! ").next().unwrap().to_owned();
    assert_eq!(
        (done.status.code(), result_text(&done)),
        (Some(3), result_text(&tried)),
        "it had come to its end"
    );
    for (more, says) in [
        ("[[sleep]]\nfor = \"1ms\"\n", "there can be no other table"),
        ("[system]\ngovernor = \"performance\"\n", "there can be no other table"),
        ("[[tune.cyclic]]\nperiod = \"1ms\"\n", "a plan has one `[[tune]]`"),
    ] {
        let output = PlanFolder::new(&format!("{text}\n{more}")).run(&["--dry-run"]);
        assert!(output.status.code() == Some(2) && stderr(&output).contains(says), "{}", stderr(&output));
    }
    assert_refused("[[tune]]\ndry-run = true\n", 2, "for the whole run");
    assert_refused("[[tune.slep]]\nfor = \"1ms\"\n", 1, "did you mean `tune sleep`?");
}

#[test]
fn a_plan_that_makes_no_sense_as_a_whole_is_refused() {
    let check = |text: &str, says: &str| {
        let output = PlanFolder::new(text).run(&["--dry-run"]);
        assert!(output.status.code() == Some(2) && stderr(&output).contains(says), "{}", stderr(&output));
    };
    check("about = \"nothing\"\n", "measures nothing; it needs a table such as `[[sleep]]`");
    check("[[cyclic]]\npolicy = \"fifo:9\"\ncall = \"busy_wait\"\n", "never lets other threads run");
    let lengths: Vec<String> = (1..=1_000).map(|length| format!("\"{length}us\"")).collect();
    let slacks = lengths.join(",");
    check(&format!("[[sleep]]\nfor = [{slacks}]\nslack = [{slacks}]\n"), "that makes 1000000 conditions");
    let nowhere = howlate(&["run", "/no/such/plan.toml"]).output().unwrap();
    assert!(stderr(&nowhere).contains("cannot read the plan /no/such/plan.toml"), "{}", stderr(&nowhere));
}

#[test]
fn plans_include_others_but_not_in_a_circle() {
    let plan = PlanFolder::new("include = [\"other.toml\"]\n[[sleep]]\nfor = \"1ms\"\n");
    fs::write(plan.folder.path().join("other.toml"), "[[cyclic]]\nthreads = 1\n").unwrap();
    let shown = stdout(&plan.run(&["--dry-run"]));
    assert!(
        shown.contains("clock_nanosleep every 1 ms") && shown.contains("clock_nanosleep for 1 ms"),
        "{shown}"
    );

    fs::write(plan.folder.path().join("other.toml"), "\ninclude = \"plan.toml\"\n").unwrap();
    let output = plan.run(&["--dry-run"]);
    let says = "other.toml line 2: includes `plan.toml`, which includes this plan";
    assert!(output.status.code() == Some(2) && stderr(&output).contains(says), "{}", stderr(&output));
}

#[test]
fn old_names_of_options_are_read() {
    let plan = PlanFolder::new("[[notify]]\nby = \"pipe\"\nbetween = \"threads\"\n");
    let shown = plan.run(&["--dry-run"]);
    assert!(shown.status.success() && stdout(&shown).contains("pipe"), "{}", stderr(&shown));
}

/// Built-in plans are available by name; a recording gets the name.
#[test]
fn plans_come_with_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        howlate(&[&["run"], arguments].concat()).current_dir(folder.path()).output().unwrap()
    };
    let list = stdout(&run(&["--list"]));
    assert!(list.contains("python-sleep  How accurate is Python's time.sleep"), "{list}");
    for plan in built_in_plans() {
        let name = plan.file_stem().unwrap().to_str().unwrap();
        let is_listed = list
            .lines()
            .any(|line| line.strip_prefix("  ").is_some_and(|line| line.starts_with(&format!("{name} "))));
        assert!(is_listed, "{name}: {list}");
        let named = run(&[name, "--dry-run", "--here"]);
        assert_eq!(named.status.code(), Some(0), "{name}: {}", stderr(&named));
        // The name gives the same plan as the file.
        let of_file = run(&[plan.to_str().unwrap(), "--dry-run", "--here"]);
        assert_eq!(stdout(&named), stdout(&of_file), "{name}");
    }
    let unknown = run(&["nanoslep", "--dry-run"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("did you mean `howlate run nanosleep`?"), "{}", stderr(&unknown));
    let fleet = howlate(&["fleet", "run", "nanosleeep", "--on", "ssh:n1"]).output().unwrap();
    assert!(stderr(&fleet).contains("did you mean `howlate fleet run nanosleep`?"), "{}", stderr(&fleet));
    fs::write(folder.path().join("nanosleep"), "[[cyclic]]\nthreads = 1\n").unwrap();
    let mine = stdout(&run(&["nanosleep", "--dry-run"]));
    assert!(mine.contains("1 condition in 1 turn,"), "a file comes before a name: {mine}");
}

/// A turn of several threads is one turn, also where each thread is a condition.
#[test]
fn a_dry_run_counts_the_turns_that_are_taken() {
    let plan =
        PlanFolder::new("[[cyclic]]\nthreads = 3\nsamples = 4\nrounds = 2\nslack = [\"1ns\", \"50us\"]\n");
    let shown = stdout(&plan.run(&["--dry-run"]));
    assert!(shown.contains("6 conditions in 4 turns"), "{shown}");
    let run = stderr(&plan.run(&[]));
    assert!(run.contains("6 conditions in 4 turns"), "{run}");
}

/// Guests are kernels times loads times policies, each measured in rounds.
#[test]
fn a_dry_run_of_guests_counts_their_boots() {
    let plan = PlanFolder::new(
        "[guest]\nkernel = [\"debian:standard\", \"debian:rt\"]\nhost-load = [\"idle\", \"pipe\"]\nvcpu-policy = [\"other\", \"fifo:1\"]\n\
         rounds = 2\n[[cyclic]]\nthreads = 1\nduration = \"20s\"\n",
    );
    let shown = stdout(&plan.run(&["--dry-run"]));
    assert!(shown.contains("1 condition in 1 turn, about 20.0 s\n"), "{shown}");
    assert!(shown.contains("in 16 guests, booted one after the other: about 5 min 20 s"), "{shown}");
    let here = stdout(&plan.run(&["--dry-run", "--here"]));
    assert!(!here.contains("guest"), "{here}");
    let plan =
        PlanFolder::new("[guest]\nkernel = \"debian:rt\"\n[[cyclic]]\nthreads = 1\nduration = \"20s\"\n");
    let shown = stdout(&plan.run(&["--dry-run"]));
    assert!(shown.contains("in 1 guest, booted one after the other: about 20.0 s"), "{shown}");
}

const MIXED: &str = "\
about = \"Sleeps and periodic threads\"
seed = 5

[[sleep]]
for = [\"100us\", \"1ms\"]
samples = 6
rounds = 3

[[cyclic]]
threads = 1
period = \"10ms\"
samples = 9
rounds = 3
";

#[test]
fn a_plan_measures_what_its_command_lines_would() {
    let plan = PlanFolder::new(MIXED);
    let output = plan.run(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("Sleeps and periodic threads\n3 conditions in 9 turns"),
        "{}",
        stderr(&output)
    );
    let text = stdout(&output);
    assert!(text.contains("µs later than asked") && text.contains("latency in µs"), "{text}");
    let result = show_json(&plan.recording());
    let counts: Vec<_> =
        result["results"].as_array().unwrap().iter().map(|result| result["count"].clone()).collect();
    assert_eq!(counts, [6, 6, 9]);
    let again = plan.run(&[]);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("`--resume` continues it"), "{}", stderr(&again));
}

#[test]
fn a_plan_may_ask_why() {
    let measures = "[[cyclic]]\nthreads = 1\nsamples = 30\nrounds = 2\n";
    let turns = |options: &str| stdout(&PlanFolder::new(&format!("{options}{measures}")).run(&["--dry-run"]));
    assert!(turns("").contains("2 turns"), "{}", turns(""));
    assert!(turns("why = true\n").contains("4 turns"), "each turn once more: {}", turns("why = true\n"));
    assert!(turns("why = false\n").contains("2 turns"));
    assert_refused("tracer = \"dtrace\"\nwhy = true\n[[cyclic]]\n", 1, "unknown tracer");
    assert!(turns("why = true\nlate-above = \"100us\"\n").contains("4 turns"));
    assert_refused("late-above = \"soon\"\nwhy = true\n[[cyclic]]\n", 1, "soon");
    assert_refused("[[cyclic]]\nwhy = true\n", 2, "for the whole run");
}

#[test]
fn what_is_typed_wins_over_the_plan() {
    let plan = PlanFolder::new(MIXED);
    assert_eq!(plan.run(&["--samples", "2", "--rounds", "1", "--quiet"]).status.code(), Some(0));
    let result = show_json(&plan.recording());
    assert!(result["results"].as_array().unwrap().iter().all(|result| result["count"] == 2));
}

#[test]
fn what_cannot_be_measured_leaves_the_rest_unharmed() {
    let plan = PlanFolder::new(
        "[[cyclic]]\npolicy = \"fifo:9\"\ncall = \"busy_wait\"\n[[sleep]]\nfor = \"1ms\"\nsamples = 2\n",
    );
    let output = plan.run(&["--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(has_caveat(&show_json(&plan.recording()), "left_out"));
}

#[test]
fn a_load_that_cannot_be_applied_is_left_out() {
    let plan = PlanFolder::new(
        "[[sleep]]\nfor = \"1ms\"\nsamples = 2\nload = [\"idle\", \"disk:/no/such/folder\"]\n",
    );
    let output = plan.run(&["--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result = show_json(&plan.recording());
    assert_eq!(result["results"].as_array().unwrap().len(), 1);
    assert!(has_caveat(&result, "left_out"));
}

#[test]
fn a_condition_that_does_not_finish_is_cut_at_its_limit() {
    // Threads with policy idle hardly run next to spinning ones.
    let plan = PlanFolder::new(
        "[[cyclic]]\npolicy = \"idle\"\nload = \"cpu\"\nsamples = 100000\ncut-after = \"300ms\"\nrounds = 1\n[[sleep]]\nfor = \"1ms\"\nsamples = 2\nrounds = 1\n",
    );
    let output = plan.run(&["--quiet"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let result = show_json(&plan.recording());
    let unfinished = |value: &serde_json::Value| value["unfinished"] == true;
    let results = result["results"].as_array().unwrap();
    assert!(unfinished(&results[0]) && !unfinished(results.last().unwrap()));
    // It was cut, not interrupted, and so is not repeated.
    let resumed = plan.run(&["--quiet", "--resume"]);
    assert_eq!(resumed.status.code(), Some(3), "{}", stderr(&resumed));
    assert_eq!(turns(&plan.recording()).len(), results.len());
}

/// Wake-ups of each turn of each condition.
fn turns(recording: &Path) -> BTreeMap<(u32, u32), u64> {
    let mut turns = BTreeMap::new();
    for line in Reader::open(recording).unwrap().map(Result::unwrap) {
        match line {
            Line::Started(started) => {
                let earlier = turns.insert((started.condition, started.round), 0);
                assert_eq!(earlier, None, "a turn is in the recording twice");
            }
            Line::Block(block) => {
                *turns.get_mut(&(block.condition, block.round)).unwrap() += block.latency.count();
            }
            _ => {}
        }
    }
    turns
}

#[test]
fn a_killed_run_goes_on_and_equals_an_unbroken_one() {
    let plan = PlanFolder::new(MIXED);
    assert_eq!(plan.run(&["--quiet", "--out", "unbroken.jsonl"]).status.code(), Some(0));
    let unbroken = turns(&plan.folder.path().join("unbroken.jsonl"));

    for signal in [Signal::KILL, Signal::INT] {
        let mut running = Background::start(&["run", plan.path().to_str().unwrap()]);
        running.wait_for("\"finished\"");
        running.signal(signal);
        running.output();
        assert!(turns(&running.recording).len() < unbroken.len(), "the run was not interrupted");

        let out = running.recording.to_str().unwrap();
        let resumed = plan.run(&["--resume", "--out", out, "--quiet"]);
        assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
        assert_eq!(turns(&running.recording), unbroken);
        let whole = fs::read(out).unwrap();
        // Nothing remains to be measured: only the result is new.
        assert!(!plan.run(&["--resume", "--out", out, "--quiet"]).stdout.is_empty());
        assert_eq!(turns(&running.recording), unbroken);
        assert!(whole.len() > 1_000);

        fs::write(plan.path(), MIXED.replace("\"1ms\"]", "\"2ms\"]")).unwrap();
        let before = fs::read(out).unwrap();
        let other = plan.run(&["--resume", "--out", out, "--quiet"]);
        assert_eq!(other.status.code(), Some(2));
        assert!(stderr(&other).contains("holds other conditions"), "{}", stderr(&other));
        assert!(fs::read(out).unwrap() == before, "a refused run changed the recording");
        fs::write(plan.path(), MIXED).unwrap();
    }
}

fn built_in_plans() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../plans");
    let mut plans: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    plans.sort();
    assert!(plans.len() >= 2);
    plans
}

#[test]
fn shipped_plans_can_be_read() {
    for plan in built_in_plans() {
        let output = howlate(&["run", "--dry-run"]).arg(&plan).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}: {}", plan.display(), stderr(&output));
        assert!(stdout(&output).contains(" turn"), "{}: {}", plan.display(), stdout(&output));
    }
}

/// What takes minutes in a plan, and what is measured instead: sleeps of seconds, and a policy under which Python hardly starts.
const SHORTENED: [(&str, [(&str, &str); 4]); 1] = [(
    "python-sleep.toml",
    [
        (r#""10ms", "100ms", "1s", "10s"]"#, r#""10ms"]"#),
        (r#""10ms", "1s"]"#, r#""10ms"]"#),
        (r#"["nice:19", "idle"]"#, r#"["nice:19"]"#),
        (r#"cut-after = "20s""#, r#"cut-after = "2s""#),
    ],
)];

/// The plan, or a copy that takes seconds.
fn shortened(plan: &Path, folder: &Path) -> PathBuf {
    let Some((name, changes)) = SHORTENED.iter().find(|(name, _)| plan.ends_with(name)) else {
        return plan.to_owned();
    };
    let mut text = fs::read_to_string(plan).unwrap();
    for (long, short) in changes {
        assert!(text.contains(long), "{name}: {long}");
        text = text.replacen(long, short, 1);
    }
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn shipped_plans_measure_when_shortened() {
    for plan in built_in_plans() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("short.jsonl");
        let short_plan = shortened(&plan, folder.path());
        // With less than six rounds, steps disappear in the noise.
        let (samples, rounds) = if plan.ends_with("steps.toml") { ("18", "6") } else { ("2", "1") };
        let short = ["--here", "--samples", samples, "--rounds", rounds, "--duration", "600ms", "--quiet"];
        let output = howlate(&["run"]).arg(&short_plan).args(short).arg("--out").arg(&out).output().unwrap();
        // Long sleeps are shortened, with a caveat.
        let status = output.status.code();
        assert!(matches!(status, Some(0 | 3)), "{}: {}", plan.display(), stderr(&output));
        let result = show_json(&out);
        let measured = |value: &&serde_json::Value| value["count"].as_u64().unwrap() > 0;
        assert!(
            result["results"].as_array().unwrap().iter().any(|result| measured(&result)),
            "{}",
            plan.display()
        );
    }
}
