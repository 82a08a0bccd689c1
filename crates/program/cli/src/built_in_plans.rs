//! Plans that are built into the program.

use std::path::Path;

use howlate_model::nearest;
use howlate_plan::PlanFile;

/// A built-in plan.
pub struct BuiltInPlan {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its text, TOML.
    pub text: &'static str,
}

macro_rules! built_in {
    ($($name:literal),*) => {
        [$(BuiltInPlan { name: $name, text: include_str!(concat!("../plans/", $name, ".toml")) }),*]
    };
}

/// All plans, by name.
pub const ALL: [BuiltInPlan; 7] =
    built_in!["container", "guest", "nanosleep", "notify", "python-sleep", "rt-kernel", "steps"];

impl BuiltInPlan {
    /// Its question, in a sentence.
    pub fn about(&self) -> String {
        PlanFile::parse(self.text).ok().and_then(|plan| plan.about).unwrap_or_default()
    }
}

/// The plan with this name, unless a file has it.
pub fn find(path: &Path) -> Option<&'static BuiltInPlan> {
    if path.is_file() {
        return None;
    }
    ALL.iter().find(|plan| path == Path::new(plan.name))
}

/// A hint for a path that is not a plan; `command` is the command it was given to, such as `howlate run`.
pub fn hint(path: &Path, command: &str) -> String {
    let found = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let suggestion = nearest(&found, ALL.iter().map(|plan| plan.name));
    let suggestion = suggestion.map(|name| format!("did you mean `{command} {name}`? "));
    format!(
        "{}`howlate run --list` lists the plans that come with it; `howlate run --help` says how to write one",
        suggestion.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_is_built_in_and_says_what_it_asks() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/plans");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut names: Vec<String> =
            files.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
        names.sort();
        assert_eq!(names, ALL.map(|plan| plan.name));
        assert!(ALL.iter().all(|plan| plan.about().ends_with('?')), "each is a question");
    }

    #[test]
    fn a_file_comes_before_a_name() {
        assert_eq!(find(Path::new("python-sleep")).unwrap().name, "python-sleep");
        assert!(find(Path::new("./python-sleep")).is_none());
        assert!(find(Path::new(file!())).is_none());
        assert!(
            hint(Path::new("plans/python-slep.toml"), "howlate run").contains("`howlate run python-sleep`?")
        );
    }
}
