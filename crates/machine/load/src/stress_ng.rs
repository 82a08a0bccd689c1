//! Loads of stress-ng: a stressor, or all stressors of a class side by side.

use std::path::Path;
use std::process::Command;

use howlate_model::nearest;

use crate::error::StartError;

/// Name of the program on the path.
pub(crate) const PROGRAM: &str = "stress-ng";

/// Classes and stressors of the installed stress-ng.
struct Catalogue {
    classes: Vec<String>,
    stressors: Vec<String>,
}

impl Catalogue {
    fn query() -> Self {
        let output_of = |arguments: &[&str]| {
            let output = Command::new(PROGRAM).args(arguments).output();
            output.map_or_else(
                |_| String::new(),
                |output| String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned(),
            )
        };
        // An unknown class makes stress-ng list the known ones.
        let classes = output_of(&["--class", "howlate?"]);
        let listed = classes.split_once("available classes:").map_or("", |(_, list)| list);
        let names = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        Self { classes: names(listed), stressors: names(&output_of(&["--stressors"])) }
    }
}

/// `name` as a class or a stressor. `class=NAME` and `stressor=NAME` choose where both have the name; the class is the
/// default.
enum Selection<'a> {
    Class(&'a str),
    Stressor(&'a str),
}

fn select<'a>(name: &'a str, catalogue: &Catalogue) -> Result<Selection<'a>, StartError> {
    let (class, stressor) = (name.strip_prefix("class="), name.strip_prefix("stressor="));
    let has = |names: &[String], name: &str| names.iter().any(|candidate| candidate == name);
    if let Some(class) =
        class.or(Some(name)).filter(|name| stressor.is_none() && has(&catalogue.classes, name))
    {
        return Ok(Selection::Class(class));
    }
    if let Some(stressor) =
        stressor.or(Some(name)).filter(|name| class.is_none() && has(&catalogue.stressors, name))
    {
        return Ok(Selection::Stressor(stressor));
    }
    let requested = class.or(stressor).unwrap_or(name).to_owned();
    let names = catalogue.classes.iter().chain(&catalogue.stressors).map(String::as_str);
    let nearest = nearest(&requested, names).map(str::to_owned);
    Err(StartError::NoStressor { name: requested, nearest, classes: catalogue.classes.clone() })
}

/// Checks that stress-ng has the class or stressor.
pub(crate) fn check(name: &str) -> Result<(), StartError> {
    select(name, &Catalogue::query()).map(drop)
}

/// The command that runs `workers` of each stressor of `name` until it is killed; files go below `folder`.
pub(crate) fn command(name: &str, workers: usize, folder: &Path) -> Result<Command, StartError> {
    let catalogue = Catalogue::query();
    let count = workers.to_string();
    let mut command = Command::new(PROGRAM);
    match select(name, &catalogue)? {
        Selection::Class(class) => command.args(["--class", class, "--all", &count]),
        Selection::Stressor(stressor) => command.args([&format!("--{stressor}"), &count]),
    };
    command.args(["--timeout", "0", "--quiet", "--temp-path"]).arg(folder);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(name: &str) -> Result<&'static str, StartError> {
        let names = |text: &str| text.split(' ').map(str::to_owned).collect();
        let catalogue = Catalogue { classes: names("cpu pipe vm"), stressors: names("cpu pipe fork switch") };
        select(name, &catalogue).map(|selection| match selection {
            Selection::Class(_) => "class",
            Selection::Stressor(_) => "stressor",
        })
    }

    #[test]
    fn classes_come_before_stressors_of_the_same_name() {
        let of = |name| kind_of(name).unwrap();
        assert_eq!(
            [of("pipe"), of("stressor=pipe"), of("class=pipe"), of("fork")],
            ["class", "stressor", "class", "stressor"]
        );
        let Err(StartError::NoStressor { nearest, .. }) = kind_of("swich") else {
            panic!("there is no `swich`")
        };
        assert_eq!(nearest.as_deref(), Some("switch"));
        assert!(kind_of("class=fork").is_err());
        assert!(kind_of("stressor=vm").is_err());
    }
}
