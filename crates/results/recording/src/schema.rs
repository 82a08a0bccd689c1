//! The JSON Schema of a recording's line.

use howlate_model::{Line, schema_as_read};

/// JSON Schema, draft 2020-12; `docs/recording.schema.json` is a copy.
pub fn schema() -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(&schema_as_read::<Line>()).map(|text| text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn the_published_schema_is_that_of_the_code() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/recording.schema.json");
        let (now, published) = (schema().unwrap(), std::fs::read_to_string(path).unwrap_or_default());
        if now != published && std::env::var_os("HOWLATE_UPDATE").is_some() {
            std::fs::write(path, &now).unwrap();
        } else {
            assert!(
                now == published,
                "run HOWLATE_UPDATE=1 cargo test -p howlate-recording, then read the difference"
            );
        }
    }

    #[test]
    fn recordings_of_every_version_keep_the_schema() {
        let schema: Value = serde_json::from_str(&schema().unwrap()).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/recordings");
        let versions = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let files = versions
            .flat_map(|version| std::fs::read_dir(version).unwrap())
            .map(|entry| entry.unwrap().path());
        let mut lines = 0;
        for file in files {
            for line in std::fs::read_to_string(&file).unwrap().lines() {
                let line: Value = serde_json::from_str(line).unwrap();
                let errors: Vec<String> =
                    validator.iter_errors(&line).map(|error| error.to_string()).collect();
                assert!(errors.is_empty(), "{}: {errors:?}", file.display());
                lines += 1;
            }
        }
        assert!(lines > 20 && !validator.is_valid(&serde_json::json!({"block": {"condition": "first"}})));
    }
}
