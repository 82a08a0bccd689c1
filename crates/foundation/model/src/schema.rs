//! JSON Schemas that every validator takes.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

/// Formats of the standard that are used here. Others (`uint64`, …) are Rust's own: strict validators refuse them.
const STANDARD_FORMATS: [&str; 1] = ["date-time"];

/// Keys of a schema that belong to the kind of value, not to its place.
const OF_THE_VALUE: [&str; 4] = ["type", "minimum", "maximum", "items"];

/// The schema of a type as it is read, draft 2020-12.
pub fn schema_as_read<T: JsonSchema>() -> Schema {
    generate::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// The schema of a type as it is written, draft 2020-12.
pub fn schema_as_written<T: JsonSchema>() -> Schema {
    generate::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn generate<T: JsonSchema>(settings: SchemaSettings) -> Schema {
    settings.with_transform(RecursiveTransform(standardise)).into_generator().into_root_schema_for::<T>()
}

/// Leaves out formats that are none, and writes "this or null" as a choice of two schemas: strict validators
/// refuse a list of types.
fn standardise(schema: &mut Schema) {
    let own = |format: &Value| format.as_str().is_none_or(|format| !STANDARD_FORMATS.contains(&format));
    if schema.get("format").is_some_and(own) {
        schema.remove("format");
    }
    if let Some(Value::Array(types)) = schema.get("type").cloned() {
        split(schema, &types);
    }
}

fn split(schema: &mut Schema, types: &[Value]) {
    let mut of_the_value = Map::new();
    for key in OF_THE_VALUE {
        of_the_value.extend(schema.remove(key).map(|value| (key.to_owned(), value)));
    }
    let choice = |one: &Value| {
        let mut choice = if one == "null" { Map::new() } else { of_the_value.clone() };
        choice.insert("type".to_owned(), one.clone());
        Value::Object(choice)
    };
    schema.insert("anyOf".to_owned(), json!(types.iter().map(choice).collect::<Vec<_>>()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "only its schema is of interest")]
    struct Some {
        count: u64,
        cpu: Option<u32>,
    }

    #[test]
    fn neither_formats_of_rust_nor_lists_of_types_are_left() {
        let schema = serde_json::to_value(schema_as_written::<Some>()).unwrap();
        assert_eq!(schema["properties"]["count"], json!({ "type": "integer", "minimum": 0 }));
        let cpu = json!({ "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "null" }] });
        assert_eq!(schema["properties"]["cpu"], cpu);
    }
}
