//! JSON Schemas that strict validators accept.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

/// Standard formats in use. Others (`uint64`, …) are specific to Rust, and strict validators refuse them.
const STANDARD_FORMATS: [&str; 1] = ["date-time"];

/// Keywords that describe the value's type.
const TYPE_KEYWORDS: [&str; 4] = ["type", "minimum", "maximum", "items"];

/// The schema for deserialising a type, draft 2020-12.
pub fn schema_as_read<T: JsonSchema>() -> Schema {
    generate::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// The schema for serialising a type, draft 2020-12.
pub fn schema_as_written<T: JsonSchema>() -> Schema {
    generate::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn generate<T: JsonSchema>(settings: SchemaSettings) -> Schema {
    settings.with_transform(RecursiveTransform(standardise)).into_generator().into_root_schema_for::<T>()
}

/// Removes non-standard formats, and replaces a list of types by `anyOf`: strict validators refuse such lists.
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
    let mut type_keywords = Map::new();
    for key in TYPE_KEYWORDS {
        type_keywords.extend(schema.remove(key).map(|value| (key.to_owned(), value)));
    }
    let choice = |kind: &Value| {
        let mut choice = if kind == "null" { Map::new() } else { type_keywords.clone() };
        choice.insert("type".to_owned(), kind.clone());
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
