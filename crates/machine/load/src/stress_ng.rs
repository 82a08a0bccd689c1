//! Loads of stress-ng: a stressor, or all stressors of a class side by side.

use std::path::Path;
use std::process::Command;

use howlate_model::nearest;

use crate::error::StartError;

/// The program as the shell finds it.
pub(crate) const PROGRAM: &str = "stress-ng";

/// What stress-ng itself says it has.
struct Catalogue {
    classes: Vec<String>,
    stressors: Vec<String>,
}

impl Catalogue {
    fn ask() -> Self {
        let said = |arguments: &[&str]| {
            let output = Command::new(PROGRAM).args(arguments).output();
            output.map_or_else(
                |_| String::new(),
                |output| String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned(),
            )
        };
        // There is no such class, and it answers with those that there are.
        let classes = said(&["--class", "howlate?"]);
        let listed = classes.split_once("available classes:").map_or("", |(_, list)| list);
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        Self { classes: words(listed), stressors: words(&said(&["--stressors"])) }
    }
}

/// `name` as a class or a stressor; where both have the name, `class=NAME` and `stressor=NAME` choose, and the class is meant
/// otherwise.
enum Selection<'a> {
    Class(&'a str),
    Stressor(&'a str),
}

fn choose<'a>(name: &'a str, known: &Catalogue) -> Result<Selection<'a>, StartError> {
    let (class, stressor) = (name.strip_prefix("class="), name.strip_prefix("stressor="));
    let has = |names: &[String], name: &str| names.iter().any(|known| known == name);
    if let Some(class) = class.or(Some(name)).filter(|name| stressor.is_none() && has(&known.classes, name)) {
        return Ok(Selection::Class(class));
    }
    if let Some(stressor) =
        stressor.or(Some(name)).filter(|name| class.is_none() && has(&known.stressors, name))
    {
        return Ok(Selection::Stressor(stressor));
    }
    let found = class.or(stressor).unwrap_or(name).to_owned();
    let names = known.classes.iter().chain(&known.stressors).map(String::as_str);
    let nearest = nearest(&found, names).map(str::to_owned);
    Err(StartError::NoStressor { found, nearest, classes: known.classes.clone() })
}

/// Whether stress-ng has what is asked for.
pub(crate) fn check(name: &str) -> Result<(), StartError> {
    choose(name, &Catalogue::ask()).map(drop)
}

/// The command that applies `name` with `workers` of each stressor until it is ended; files go below `folder`.
pub(crate) fn command(name: &str, workers: usize, folder: &Path) -> Result<Command, StartError> {
    let known = Catalogue::ask();
    let count = workers.to_string();
    let mut command = Command::new(PROGRAM);
    match choose(name, &known)? {
        Selection::Class(class) => command.args(["--class", class, "--all", &count]),
        Selection::Stressor(stressor) => command.args([&format!("--{stressor}"), &count]),
    };
    command.args(["--timeout", "0", "--quiet", "--temp-path"]).arg(folder);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(name: &str) -> Result<&'static str, StartError> {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect();
        let known = Catalogue { classes: words("cpu pipe vm"), stressors: words("cpu pipe fork switch") };
        choose(name, &known).map(|chosen| match chosen {
            Selection::Class(_) => "class",
            Selection::Stressor(_) => "stressor",
        })
    }

    #[test]
    fn classes_come_before_stressors_of_the_same_name() {
        let of = |name| chosen(name).unwrap();
        assert_eq!(
            [of("pipe"), of("stressor=pipe"), of("class=pipe"), of("fork")],
            ["class", "stressor", "class", "stressor"]
        );
        let Err(StartError::NoStressor { nearest, .. }) = chosen("swich") else {
            panic!("there is no `swich`")
        };
        assert_eq!(nearest.as_deref(), Some("switch"));
        assert!(chosen("class=fork").is_err());
        assert!(chosen("stressor=vm").is_err());
    }
}
