//! The keys of the records, as tables.

use anyhow::{Context, Result};
use serde_json::Value;

use super::markdown::{cell, texts};

/// The records, in the order of the tables.
const RECORDS: [&str; 5] = ["measurement", "counters", "accuracy", "shape", "timeline"];

/// The keys of one kind of record, in its order.
struct Keys {
    /// What the record is.
    meaning: String,
    /// Name, type and meaning.
    keys: Vec<[String; 3]>,
}

impl Keys {
    /// Those of a record.
    fn of(record: &str) -> Result<Self> {
        let schema = results::schema();
        let definition = definition(&schema, record).with_context(|| format!("the schema has no record `{record}`"))?;
        let properties = definition["properties"].as_object().context("a record has keys")?;
        let keys = properties.iter().map(|(name, property)| {
            let meaning = property["description"].as_str().map(str::to_owned).unwrap_or_default();
            [name.clone(), type_of(property), meaning]
        });
        let meaning = definition["description"].as_str().unwrap_or_default().to_owned();
        Ok(Self { meaning, keys: keys.collect() })
    }
}

/// The block `schema`: a table of keys for each kind of record.
pub fn block() -> Result<String> {
    let mut text = format!("Version {} of the records.\n", results::SCHEMA);
    for record in RECORDS {
        let Keys { meaning, keys } = Keys::of(record)?;
        let rows = keys.into_iter().map(|[key, of, meaning]| [format!("`{key}`"), of, cell(&meaning)]);
        text += &format!(
            "\n### `\"record\": \"{record}\"`\n\n{}\n\n{}",
            cell(&meaning),
            texts(["Key", "Type", "Meaning"], rows)
        );
    }
    Ok(text)
}

/// The definition that the variant for `record` refers to.
fn definition<'a>(schema: &'a Value, record: &str) -> Option<&'a Value> {
    let is_it = |variant: &&Value| variant["properties"]["record"]["const"] == record;
    let variant = schema["oneOf"].as_array()?.iter().find(is_it)?;
    let reference = variant["$ref"].as_str()?;
    schema.pointer(reference.strip_prefix('#')?)
}

/// A type in words.
fn type_of(property: &Value) -> String {
    match &property["type"] {
        Value::String(name) => name.clone(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "string".into(),
    }
}
