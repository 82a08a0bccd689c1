//! `howlate report`: a page, pictures, Markdown and CSV from recordings.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::common::{howlate, is_installed, skip, stderr, stdout, values};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest, Sha256};

/// One recording of each kind.
const RECORDINGS: [&str; 9] =
    ["cyclic", "guest", "killed", "languages", "notify", "policies", "sleep", "stall", "why"];

/// All pictures of results of one machine, also by the first name of `osadl`.
fn kinds() -> Vec<String> {
    let all = values("report", "--chart").into_iter().filter(|kind| kind != "nodes");
    all.chain(["histogram".to_owned()]).collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata/recordings/v1")
}

/// Runs in the folder of the recordings, so that names are the same everywhere.
fn report(arguments: &[&str]) -> Output {
    howlate(&[&["report"], arguments].concat()).current_dir(folder()).output().unwrap()
}

#[track_caller]
fn text(arguments: &[&str]) -> String {
    let output = report(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output)
}

fn page(names: &[&str]) -> String {
    let files: Vec<String> = names.iter().map(|name| format!("{name}.jsonl")).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    text(&[files.as_slice(), &["-o", "-"]].concat())
}

/// The text between `from` and `to`.
#[track_caller]
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    text.split_once(from).unwrap().1.split_once(to).unwrap().0
}

/// Whether all elements are closed in order.
#[track_caller]
fn is_well_formed(page: &str) {
    const WITHOUT_END: [&str; 4] = ["meta", "link", "br", "!DOCTYPE"];
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').unwrap();
        let name = tag.split([' ', '\n']).next().unwrap();
        rest = after;
        if let Some(name) = name.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "before {:?}", &rest[..rest.len().min(80)]);
        } else if !WITHOUT_END.contains(&name) {
            open.push(name);
            if matches!(name, "style" | "script") {
                rest = &rest[rest.find(&format!("</{name}>")).unwrap()..];
            }
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn every_recording_becomes_a_page_that_needs_nothing_else() {
    for name in RECORDINGS {
        let page = page(&[name]);
        is_well_formed(&page);
        for asks_for_more in [" src=", "url(", "@import", "rel=\"stylesheet\"", " style=\"", " onclick"] {
            assert!(!page.contains(asks_for_more), "{name}: {asks_for_more}");
        }
        for kind in ["density", "percentiles"] {
            assert!(page.contains(&format!("<figure id=\"{kind}\">")), "{name}: {kind}");
        }
    }
    assert!(page(&["killed"]).contains("has no end: the run was killed"));
}

#[test]
fn a_traced_recording_says_who_it_was_and_what_to_do() {
    let page = page(&["why"]);
    let why = between(&page, "<section id=\"why\">", "</section>");
    assert!(why.contains("<th scope=\"row\">hog, pid "), "the culprit: {why}");
    assert!(why.contains("<th scope=\"row\">timer slack</th>"), "{why}");
    assert!(why.contains("<code>"), "something to type: {why}");
    let worst = between(&page, "<figure id=\"worst\">", "</figure>");
    assert!(worst.contains("waiting for the CPU (hog, pid "), "{worst}");
    assert!(worst.contains("class=\"piece-name s1\""), "a culprit is labelled");
    let usual = between(&page, "<figure id=\"usual\">", "</figure>");
    assert!(usual.contains("timer slack: 50.0 µs"), "{usual}");
    assert!(
        !text(&["cyclic.jsonl", "-o", "-"]).contains("id=\"why\""),
        "nothing of it where nothing was traced"
    );
}

#[test]
fn a_page_runs_nothing_but_its_own_style_and_script() {
    let page = page(&["cyclic"]);
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\"");
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    for element in ["style", "script"] {
        let text = between(&page, &format!("<{element}>"), &format!("</{element}>"));
        let digest = BASE64.encode(Sha256::digest(text.as_bytes()));
        assert!(policy.contains(&format!("{element}-src 'sha256-{digest}'")), "{element}");
        assert_eq!(page.matches(&format!("<{element}>")).count(), 1);
    }
}

#[test]
fn several_recordings_stand_side_by_side() {
    let page = page(&["cyclic", "stall"]);
    is_well_formed(&page);
    for name in ["cyclic.jsonl", "stall.jsonl"] {
        assert!(
            page.contains(&format!("<th scope=\"row\">{name}</th>")),
            "{name} is told apart in the results"
        );
    }
}

#[test]
fn kernels_of_guests_are_told_apart() {
    let page = page(&["guest"]);
    for kernel in ["6.1.0-56-amd64", "6.1.0-56-rt-amd64"] {
        let whole = format!("<th scope=\"row\"><span class=\"whole\">{kernel}</span></th>");
        assert!(page.contains(&whole), "{kernel} in the results");
        assert!(page.contains(&format!("guest {kernel} (")), "{kernel} among the machines");
    }
}

#[test]
fn no_wake_up_is_lost_on_the_way_to_the_picture() {
    let page = page(&["stall"]);
    let shown =
        stdout(&howlate(&["show", "--format", "csv", "stall.jsonl"]).current_dir(folder()).output().unwrap());
    let mut rows = csv::Reader::from_reader(shown.as_bytes());
    // Missed periods appear with the latency that they would have had.
    let headings = rows.headers().unwrap().clone();
    let place = |name: &str| headings.iter().position(|heading| heading == name).unwrap();
    let places = ["count", "missed_periods"].map(place);
    let planned =
        |row: &csv::StringRecord| places.map(|place| row[place].parse::<u64>().unwrap()).iter().sum();
    let counted: u64 = rows.records().map(|row| -> u64 { planned(&row.unwrap()) }).sum();
    let data = between(&page, "download=\"density-1.csv\" href=\"data:text/csv;charset=utf-8,", "\"");
    let data = data.replace("%0A", "\n").replace("%20", " ").replace("%22", "\"");
    let mut chart_data = csv::Reader::from_reader(data.as_bytes());
    let cells = chart_data.records().flat_map(|row| {
        row.unwrap().iter().skip(2).map(|cell| cell.parse::<u64>().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(cells.sum::<u64>(), counted);
}

#[test]
fn what_a_recording_says_cannot_become_part_of_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(self::folder().join("cyclic.jsonl")).unwrap();
    let evil = r#"</script><script>alert(1)</script>\" onload=\"alert(1)"#;
    let text = text.replacen("AMD EPYC", evil, 1).replacen("\"--seed\"", &format!("\"{evil}\""), 1);
    std::fs::write(folder.path().join("<b>.jsonl"), text).unwrap();
    let output = howlate(&["report", "<b>.jsonl", "-o", "-"]).current_dir(folder.path()).output().unwrap();
    let page = stdout(&output);
    assert!(page.contains("alert(1)"), "the recording was read");
    is_well_formed(&page);
    assert!(!page.contains("<b>") && !page.contains("<script>alert") && !page.contains("\" onload"));
}

#[test]
fn every_picture_is_an_image_of_its_own() {
    let (kinds, mut kinds_drawn) = (kinds(), Vec::new());
    for name in RECORDINGS {
        for kind in &kinds {
            let output = report(&[&format!("{name}.jsonl"), "--format", "svg", "--chart", kind]);
            if output.status.code() == Some(2) {
                assert!(stderr(&output).contains("choose `--chart` from"), "{}", stderr(&output));
                continue;
            }
            assert_eq!(output.status.code(), Some(0), "{name} {kind}: {}", stderr(&output));
            let image = stdout(&output);
            let document = roxmltree::Document::parse(&image).unwrap();
            assert_eq!(document.root_element().tag_name().name(), "svg");
            assert!(document.descendants().any(|node| node.has_tag_name("desc")) || image.contains("<desc>"));
            assert!(!image.contains("NaN") && !image.contains("inf"), "{name} {kind}");
            kinds_drawn.push(kind);
        }
    }
    assert!(kinds.iter().all(|kind| kinds_drawn.contains(&kind)), "{kinds_drawn:?}");
}

/// Width, height and RGB pixels of a picture.
fn pixels(image: &[u8]) -> (u32, u32, Vec<[u8; 3]>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(image)).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let read = reader.next_frame(&mut bytes).unwrap();
    assert_eq!((read.color_type, read.bit_depth), (png::ColorType::Rgba, png::BitDepth::Eight));
    let colours = bytes.chunks_exact(4).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    (read.width, read.height, colours)
}

/// Bounding boxes of the title's lines in the SVG: left, top, right and bottom in pixels.
fn titles(image: &str) -> Vec<[u32; 4]> {
    let document = roxmltree::Document::parse(image).unwrap();
    let lines = document.descendants().filter(|node| node.attribute("class") == Some("title"));
    // The margin has 16 units, and letters are above their baseline.
    lines
        .map(|line| line.attribute("y").unwrap().parse::<u32>().unwrap())
        .map(|y| [32, 2 * y - 24, 92, 2 * y])
        .collect()
}

/// Why PNG is unavailable here; `None` where it works.
fn no_pixels() -> Option<&'static str> {
    let message = stderr(&report(&["cyclic.jsonl", "--chart", "density", "-o", "-", "--format", "png"]));
    let is_built_in = cfg!(feature = "png");
    assert_eq!(message.contains("`cargo run --release --features png -- …`"), !is_built_in, "{message}");
    match is_built_in {
        false => Some("built without PNG: `--features howlate/png`, as `cargo xtask test` has it"),
        true => message.contains("no font").then_some("no font is installed"),
    }
}

#[test]
fn every_picture_can_be_had_in_pixels_with_its_words() {
    if let Some(reason) = no_pixels() {
        return skip(reason);
    }
    for kind in &kinds() {
        let of = |name: &'static str| {
            let output = report(&[&format!("{name}.jsonl"), "--format", "png", "--chart", kind]);
            (output.status.code() == Some(0)).then_some((name, output.stdout))
        };
        let (name, image) = RECORDINGS.into_iter().find_map(of).unwrap();
        let drawing = text(&[&format!("{name}.jsonl"), "--format", "svg", "--chart", kind]);
        let (width, height, colours) = pixels(&image);
        let root = roxmltree::Document::parse(&drawing).unwrap();
        let size = |name| root.root_element().attribute(name).unwrap().parse::<f64>().unwrap().round() * 2.0;
        assert_eq!((f64::from(width), f64::from(height)), (size("width"), size("height")), "{name} {kind}");
        let paper = colours[0];
        assert_eq!(paper, [255, 255, 255], "{name} {kind}");
        let several = colours.iter().collect::<BTreeSet<_>>().len();
        assert!(several > 20, "{name} {kind}: {several} colours");
        for [left, top, right, bottom] in titles(&drawing) {
            let place = |y: u32| (left..right).map(move |x| (y * width + x) as usize);
            let ink = (top..bottom)
                .flat_map(place)
                .map(|place| colours[place])
                .filter(|colour| colour.iter().all(|part| *part < 100));
            assert!(ink.count() > 50, "{name} {kind}: a title");
        }
    }
}

#[test]
fn pixels_are_light_or_dark_and_never_without_words() {
    let of = |theme: &str| {
        pixels(&report(&["cyclic.jsonl", "--chart", "time", "--format", "png", "--theme", theme]).stdout)
    };
    if !cfg!(feature = "png") {
        return skip("built without PNG");
    }
    if no_pixels().is_none() {
        assert_eq!((of("light").2[0], of("dark").2[0]), ([255, 255, 255], [20, 24, 28]));
    }
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("fonts.conf");
    let none = format!("<fontconfig><dir>{}</dir></fontconfig>", folder.path().join("none").display());
    std::fs::write(&config, none).unwrap();
    let mut command = howlate(&["report", "cyclic.jsonl", "--chart", "time", "-o", "-", "--format", "png"]);
    let output = command.current_dir(self::folder()).env("FONTCONFIG_FILE", &config).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    assert!(stderr(&output).contains("apt-get install fonts-"), "{}", stderr(&output));
}

/// On a terminal a picture goes to a file; in a pipe it is the output.
#[test]
fn a_picture_does_not_fill_a_terminal() {
    if !is_installed("script") {
        return skip("script is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let recording = self::folder().join("stall.jsonl");
    let on_terminal = |recording: &str, more: &str| {
        let line = format!("{} report {recording} --chart time {more}", env!("CARGO_BIN_EXE_howlate"));
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--command", &line, "/dev/null"]).current_dir(folder.path());
        command.stdin(Stdio::null()).output().unwrap()
    };
    let recording = recording.to_str().unwrap();
    let output = on_terminal(recording, "");
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    assert!(stdout(&output).contains("Written to stall-time.svg ("), "{}", stdout(&output));
    let written = std::fs::read_to_string(folder.path().join("stall-time.svg")).unwrap();
    assert_eq!(written, text(&["stall.jsonl", "--chart", "time"]));
    let again = on_terminal(recording, "");
    assert!(again.status.code() == Some(2) && stdout(&again).contains("refusing to overwrite"));
    let both = on_terminal(&format!("{recording} {recording}"), "");
    assert!(stdout(&both).contains("Written to report-time.svg ("), "{}", stdout(&both));
    assert!(stdout(&on_terminal(recording, "--out -")).starts_with("<svg"), "as asked");
}

#[test]
fn the_name_of_a_file_says_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let recording = self::folder().join("stall.jsonl");
    let run = |name: &str, more: &[&str]| {
        let command_line = [&["report", recording.to_str().unwrap(), "-o", name], more].concat();
        howlate(&command_line).current_dir(folder.path()).output().unwrap()
    };
    let begins = |name: &str| {
        String::from_utf8_lossy(&std::fs::read(folder.path().join(name)).unwrap()[..4]).into_owned()
    };
    assert_eq!(run("b.png", &["--chart", "time"]).status.success(), no_pixels().is_none());
    assert!(no_pixels().is_some() || begins("b.png") == "\u{fffd}PNG");
    for (name, more, begin) in [
        ("a.html", &[][..], "<!DO"),
        ("a.md", &[], "## H"),
        ("a.csv", &[], "reco"),
        ("a.svg", &["--chart", "time"], ""),
        ("b.svg", &["--chart", "time"], "<svg"),
        ("a.png", &["--chart", "time", "--format", "svg"], "<svg"),
        ("a.txt", &[], ""),
        ("a.pdf", &[], ""),
        ("b.txt", &["--format", "html"], "<!DO"),
    ] {
        let output = run(name, more);
        let is_beside = begin.is_empty();
        assert_eq!(output.status.code(), Some(if is_beside { 2 } else { 0 }), "{name}: {}", stderr(&output));
        assert!(is_beside || begins(name) == begin, "{name}: {}", begins(name));
    }
    for name in ["c.png", "c.svg"] {
        let output = run(name, &[]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(stderr(&output).contains("choose `--chart` from"), "{}", stderr(&output));
    }
}

#[test]
fn words_and_numbers_for_other_pages() {
    insta::assert_snapshot!("report-md", text(&["cyclic.jsonl", "--format", "md"]));
    insta::assert_snapshot!("report-sleep-md", text(&["sleep.jsonl", "--format", "md"]));
    let shown = howlate(&["show", "--format", "csv", "cyclic.jsonl"]).current_dir(folder()).output().unwrap();
    assert_eq!(text(&["cyclic.jsonl", "--format", "csv"]), stdout(&shown));
}

/// Markdown in a file links a picture in the same folder; no file is overwritten, and no table has eight columns.
#[test]
fn a_note_has_its_picture_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let recording = |name: &str| self::folder().join(format!("{name}.jsonl")).to_str().unwrap().to_owned();
    let run = |name: &str, option: &str, file: &str| {
        let arguments = ["report", &recording(name), "--format", "md", option, file];
        howlate(&arguments).current_dir(folder.path()).output().unwrap()
    };
    for (name, option) in RECORDINGS.iter().zip(["-o", "--out", "--output"].iter().cycle()) {
        let file = format!("a {name}.md");
        let output = run(name, option, &file);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), ""), "{}", stderr(&output));
        let text = std::fs::read_to_string(folder.path().join(&file)).unwrap();
        assert!(text.contains(&format!("](a%20{name}.svg)\n")), "{text}");
        let image = std::fs::read_to_string(folder.path().join(format!("a {name}.svg"))).unwrap();
        assert!(roxmltree::Document::parse(&image).unwrap().root_element().has_tag_name("svg"));
        let widest = text.lines().filter(|line| line.starts_with('|'));
        let widest = widest.map(|line| line.replace("\\|", "").matches('|').count() - 1).max().unwrap();
        assert!(widest < 8, "{widest} columns: {text}");
        assert_eq!(text.matches("<details>").count(), text.matches("</details>").count(), "{text}");
    }
    std::fs::write(folder.path().join("b.svg"), "mine").unwrap();
    let refused = run("stall", "-o", "b.md");
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(
        !folder.path().join("b.md").exists() && stderr(&refused).contains("b.svg"),
        "{}",
        stderr(&refused)
    );
    assert!(
        !text(&["stall.jsonl", "--format", "md"]).contains("]("),
        "nothing stands beside standard output"
    );
}

/// One number, one small picture, doubts, help for newcomers, and the name of the watched program.
#[test]
fn the_first_screen_has_one_number_and_what_makes_it_doubtful() {
    let page = page(&["why"]).replace('\u{a0}', " ");
    let first = between(&page, "<header>", "</header>");
    assert_eq!(first.matches("class=\"number-one\"").count(), 1, "{first}");
    assert!(first.contains("<strong>520 µs</strong>"), "{first}");
    assert!(first.contains("<svg") && first.contains("Other programs were running"), "{first}");
    assert!(first.contains("How to read this page"), "{first}");
    let watched = text(&["watch.jsonl", "-o", "-"]);
    assert!(watched.contains("<h1>How late the threads of control run</h1>"));
}

/// One picture of all conditions, before their tables.
#[test]
fn causes_of_all_conditions_are_one_picture() {
    let page = page(&["why"]);
    let why = page.split("<section id=\"why\">").nth(1).unwrap();
    let (picture, tables) = (why.find("id=\"causes\"").unwrap(), why.find("class=\"causes\"").unwrap());
    assert!(picture < tables);
    let picture = between(why, "id=\"causes\"", "</figure>");
    assert!(picture.contains("rustc") && picture.contains("other threads"), "{picture}");
    assert!(stderr(&report(&["cyclic.jsonl", "--chart", "causes"])).contains("no data"));
}

#[test]
fn a_page_answers_as_compare_does() {
    let compare = |arguments: &[&str]| {
        stdout(&howlate(&[&["compare"], arguments].concat()).current_dir(folder()).output().unwrap())
    };
    let before_and_after: &[&str] = &["idle-before.jsonl", "idle-after.jsonl"];
    for (reported, compared) in [
        (&["policies.jsonl"][..], &["policies.jsonl", "--by", "policy"][..]),
        (&["cyclic.jsonl", "--by", "policy"], &["cyclic.jsonl", "--by", "policy"]),
        (before_and_after, before_and_after),
    ] {
        let rows = compare(&[compared, &["--format", "json"]].concat());
        let rows: serde_json::Value = serde_json::from_str(&rows).unwrap();
        let answer = rows["answer"].as_str().unwrap();
        let message = compare(compared).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(message.contains(answer), "{message}");
        // Escaped for HTML.
        let answer = answer.replace('"', "&quot;");
        let page = text(&[reported, &["-o", "-"]].concat()).replace('\u{a0}', " ");
        assert!(page.contains(&format!("<p class=\"answer\">{answer}</p>")), "{reported:?}: {answer}");
        let forest = between(&page, "<figure id=\"forest\">", "</figure>");
        let compared = rows["compared"].as_array().unwrap().iter();
        let verdicts: usize =
            compared.map(|comparison| comparison["statistics"].as_array().unwrap().len()).sum();
        // A wide and a narrow drawing.
        assert_eq!(forest.matches("<g class=\"row\"").count(), 2 * verdicts, "{reported:?}");
        let markdown = text(&[reported, &["--format", "md"]].concat()).replace('\u{a0}', " ");
        assert!(markdown.contains(answer.split(['(', '"', '&']).next().unwrap().trim()), "{markdown}");
    }
    let wrong = report(&["cyclic.jsonl", "--by", "kernel", "-o", "-"]);
    assert_eq!((wrong.status.code(), stdout(&wrong).as_str()), (Some(2), ""));
    let wrong = report(&["cyclic.jsonl", "stall.jsonl", "--by", "policy", "-o", "-"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", stderr(&wrong));
}

/// Texts use the minus sign U+2212; formats for programs use ASCII.
#[test]
fn there_is_one_sign_for_minus() {
    let page = text(&["policies.jsonl", "-o", "-"]);
    // Except in commands.
    let unread = ["style", "code", "span class=\"whole\""];
    let body = page.split("<script>").next().unwrap();
    let read = body.split('<').filter(|part| !unread.iter().any(|prefix| part.starts_with(prefix)));
    let read: Vec<&str> = read.filter_map(|part| Some(part.split_once('>')?.1)).collect();
    let compared = stdout(
        &howlate(&["compare", "policies.jsonl", "--by", "policy"]).current_dir(folder()).output().unwrap(),
    );
    let markdown = text(&["policies.jsonl", "--format", "md"]);
    let ascii = |text: &&str| {
        let after_hyphen =
            text.split('-').skip(1).map(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()));
        let begins = text.split('-').map(|before| before.is_empty() || before.ends_with([' ', '(', '|']));
        after_hyphen.zip(begins).any(|(is_number, begins)| is_number && begins)
    };
    // Nice values are written as on the command line.
    let read: Vec<String> = read.iter().map(|text| text.replace("nice -20", "")).collect();
    for text in read.iter().map(String::as_str).chain(compared.lines()).chain(markdown.lines()) {
        assert!(!ascii(&text), "{text}");
    }
    for text in [&page, &compared, &markdown] {
        assert!(text.contains("−99"), "{text}");
    }
    for format in ["csv", "json"] {
        let shown =
            howlate(&["show", "policies.jsonl", "--format", format]).current_dir(folder()).output().unwrap();
        let shown = stdout(&shown);
        assert!(shown.contains("clock_nanosleep") && !shown.contains('−'), "{format}: {shown}");
    }
}

#[test]
fn a_margin_is_the_same_as_that_of_compare() {
    let with = |command: &str, more: &[&str]| {
        let command_line = [&[command, "policies.jsonl", "--by", "policy", "--format", "md"], more].concat();
        stdout(&howlate(&command_line).current_dir(folder()).output().unwrap())
    };
    let verdicts = |text: &str| ["better", "worse", "quivalent"].map(|word| text.contains(word));
    // All differences are below a minute; some are below 1 ms.
    for margin in [&[][..], &["--margin", "1m"], &["--margin", "1ms"]] {
        let [report, compared] = ["report", "compare"].map(|command| with(command, margin));
        assert_eq!(verdicts(&report), verdicts(&compared), "{margin:?}: {report}\n{compared}");
    }
    let is_equivalent = |more: &[&str]| with("report", more).contains("quivalent");
    assert!(is_equivalent(&["--margin", "1m"]) && !is_equivalent(&[]));
    let refused = report(&["cyclic.jsonl", "--margin", "5"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("`5` has no unit"), "{}", stderr(&refused));
}

#[test]
fn a_deadline_runs_through_everything() {
    let [page, given] =
        [&["cyclic.jsonl", "-o", "-"][..], &["cyclic.jsonl", "-o", "-", "--deadline", "80us"]]
            .map(|arguments| text(arguments).replace('\u{a0}', " "));
    assert!(page.contains("A deadline of 1 ms (the period) would have been missed by"), "{page}");
    assert!(page.contains(">&gt; 1 ms</th>") && page.contains(">deadline 1 ms</text>"));
    assert!(given.contains("A deadline of 80 µs would have been missed by"), "{given}");
    assert!(given.contains(">&gt; 80 µs</th>") && given.contains(">deadline 80 µs</text>"));
    let sleep = text(&["sleep.jsonl", "-o", "-"]);
    assert!(!sleep.contains("deadline"), "a sleep has none of its own");
    let sleep = text(&["sleep.jsonl", "--format", "md", "--deadline", "2ms"]).replace('\u{a0}', " ");
    assert!(sleep.contains("A deadline of 2 ms would have been missed by"), "{sleep}");
    assert_eq!(report(&["cyclic.jsonl", "-o", "-", "--deadline", "80"]).status.code(), Some(2));
}

#[test]
fn a_page_is_named_after_its_recording_and_never_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let recording = self::folder().join("stall.jsonl");
    let recording = recording.to_str().unwrap();
    let run = |arguments: &[&str]| howlate(arguments).current_dir(folder.path()).output().unwrap();
    let first = run(&["report", recording]);
    assert_eq!((first.status.code(), stdout(&first).as_str()), (Some(0), ""));
    assert!(stderr(&first).contains("stall.html"), "{}", stderr(&first));
    let written = std::fs::read(folder.path().join("stall.html")).unwrap();
    let again = run(&["report", recording]);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("refusing to overwrite"), "{}", stderr(&again));
    assert_eq!(std::fs::read(folder.path().join("stall.html")).unwrap(), written);
    assert_eq!(run(&["report", recording, recording]).status.code(), Some(0));
    assert!(folder.path().join("report.html").exists());
    assert_eq!(run(&["report", recording, "-o", "no/such/folder.html"]).status.code(), Some(2));
}

#[test]
fn a_page_is_opened_where_there_is_a_display() {
    let folder = tempfile::tempdir().unwrap();
    let recording = self::folder().join("stall.jsonl");
    let opener = folder.path().join("xdg-open");
    std::fs::write(&opener, "#!/bin/sh\nprintf %s \"$1\" > \"${0%/*}/opened\"\nexit ${FAIL:-0}\n").unwrap();
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).unwrap();
    let run = |name: &str, environment: &[(&str, &str)]| {
        let mut command = howlate(&["report", "--open", "-o", name]);
        command.arg(&recording).current_dir(folder.path()).env("PATH", folder.path());
        command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").envs(environment.iter().copied());
        command.output().unwrap()
    };
    let without = run("a.html", &[]);
    assert_eq!(without.status.code(), Some(0));
    assert!(stderr(&without).contains("There is no display here"), "{}", stderr(&without));
    assert!(folder.path().join("a.html").exists() && !folder.path().join("opened").exists());
    let with = run("-b.html", &[("DISPLAY", ":7")]);
    assert_eq!(with.status.code(), Some(2), "an option is no name: {}", stderr(&with));
    let with = run("./-b.html", &[("WAYLAND_DISPLAY", "wayland-0")]);
    assert_eq!(with.status.code(), Some(0), "{}", stderr(&with));
    let opened = std::fs::read_to_string(folder.path().join("opened")).unwrap();
    assert_eq!(Path::new(&opened), folder.path().canonicalize().unwrap().join("-b.html"));
    let failed = run("c.html", &[("DISPLAY", ":7"), ("FAIL", "3")]);
    assert_eq!(failed.status.code(), Some(2));
    assert!(stderr(&failed).contains("it has been written: open c.html in a browser"), "{}", stderr(&failed));
    let nothing = run("-", &[("DISPLAY", ":7")]);
    assert_eq!((nothing.status.code(), stdout(&nothing).as_str()), (Some(2), ""));
}

#[test]
fn a_page_tells_no_folder_where_names_do() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["one", "other"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
        std::fs::copy(self::folder().join("stall.jsonl"), folder.path().join(name).join("run.jsonl"))
            .unwrap();
    }
    let [first, second] = ["one/run.jsonl", "other/run.jsonl"].map(|name| folder.path().join(name));
    let [first, second] = [first.to_str().unwrap(), second.to_str().unwrap()];
    assert!(!text(&[first, "-o", "-"]).contains(folder.path().to_str().unwrap()));
    let both = text(&[first, second, "-o", "-"]);
    assert!(
        both.contains(first) && both.contains(second),
        "files of one name are told apart by their folders"
    );
    assert!(text(&[first, "--format", "csv"]).contains(first), "programs are given what was typed");
}

#[test]
fn what_repeats_a_run_draws_the_same_order_and_saves_nothing_over_it() {
    let again = page(&["cyclic"]);
    let again = between(&again, "To repeat the measurement", "</pre>");
    assert!(again.contains("howlate cyclic ") && again.contains(" --seed "), "{again}");
    assert!(!again.contains("--out"), "{again}");
}

#[test]
fn a_picture_must_be_named() {
    let output = report(&["cyclic.jsonl", "--format", "svg"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--chart"), "{}", stderr(&output));
    let output = report(&["cyclic.jsonl", "--format", "svg", "--chart", "pie"]);
    assert!(stderr(&output).contains("density, forest, overview"), "{}", stderr(&output));
    // The name is enough; another format contradicts it.
    let named = text(&["cyclic.jsonl", "--chart", "density"]);
    assert!(named.starts_with("<svg") || named.starts_with("<?xml"), "{}", &named[..80]);
    assert_eq!(named, text(&["cyclic.jsonl", "--format", "svg", "--chart", "density"]));
    let output = report(&["cyclic.jsonl", "--theme", "dark"]);
    assert!(output.status.code() == Some(2) && stderr(&output).contains("--chart"), "{}", stderr(&output));
    let output = report(&["cyclic.jsonl", "--format", "md", "--chart", "density"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()));
    assert!(stderr(&output).contains("leave out `--format`"), "{}", stderr(&output));
}

/// Example pages for developers and CI, in the build folder.
#[test]
fn an_example_is_kept_with_the_build() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("example-report.html");
    // Removes those of an earlier build: reports never overwrite files.
    drop(std::fs::remove_file(&path));
    let output = report(&["cyclic.jsonl", "-o", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(path).unwrap(), page(&["cyclic"]), "a file holds what is printed");
}
