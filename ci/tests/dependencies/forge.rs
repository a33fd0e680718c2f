//! What the forge reads, which nothing here runs: issue forms and workflows are YAML of the shape
//! that it wants, and run scripts that there are, by actions of a version.

use std::collections::BTreeSet;

use serde_json::Value;
use tilewright_ci::source_tree::{self, SourceFile};

const FORMS: &str = ".github/ISSUE_TEMPLATE/";
const WORKFLOWS: &str = ".github/workflows/";

/// The files of a folder, parsed.
fn parsed(folder: &str) -> Vec<(String, Value)> {
    let files = source_tree::files().unwrap();
    let own = |file: &&SourceFile| file.path.starts_with(folder) && file.ends_in("yml");
    let read = |file: &SourceFile| {
        let value = serde_yaml::from_str(&file.text);
        let value = value.unwrap_or_else(|error| panic!("{}: {error}", file.path));
        (file.path.clone(), value)
    };
    files.iter().filter(own).map(read).collect()
}

/// A list under a key; empty where there is none.
fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

/// Whether there is a text under a key, with something in it.
fn has_text(value: &Value, key: &str) -> bool {
    value[key]
        .as_str()
        .is_some_and(|text| !text.trim().is_empty())
}

/// What is wrong with an issue form.
fn of_form(form: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut want = |holds: bool, what: String| {
        if !holds {
            wrong.push(what);
        }
    };
    for key in ["name", "description"] {
        want(has_text(form, key), format!("no {key}"));
    }
    let body = list(form, "body");
    want(!body.is_empty(), "no body".to_owned());
    let mut ids = BTreeSet::new();
    for (number, field) in body.iter().enumerate() {
        let kind = field["type"].as_str().unwrap_or("");
        let attributes = &field["attributes"];
        if kind == "markdown" {
            want(
                has_text(attributes, "value"),
                format!("field {number}: no value"),
            );
            continue;
        }
        let is_known = ["textarea", "input", "dropdown", "checkboxes"].contains(&kind);
        want(is_known, format!("field {number}: `{kind}` is no type"));
        want(
            has_text(attributes, "label"),
            format!("field {number}: no label"),
        );
        let has_id = has_text(field, "id") && ids.insert(field["id"].to_string());
        want(has_id, format!("field {number}: no id of its own"));
        let wants_options = ["dropdown", "checkboxes"].contains(&kind);
        let has_options = !list(attributes, "options").is_empty();
        want(
            wants_options == has_options,
            format!("field {number}: options"),
        );
    }
    let is_required = |field: &Value| field["validations"]["required"] == true;
    want(
        body.iter().any(is_required),
        "nothing of it is required".to_owned(),
    );
    wrong
}

/// What is wrong with a workflow.
fn of_workflow(workflow: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    if !has_text(workflow, "name") || !workflow["on"].is_object() {
        wrong.push("no name, or nothing that starts it".to_owned());
    }
    if workflow["permissions"]["contents"] != "read" {
        wrong.push("`permissions` of all jobs are more than to read, or are not said".to_owned());
    }
    let jobs = workflow["jobs"].as_object();
    for (name, job) in jobs.into_iter().flatten() {
        let steps = list(job, "steps");
        if !has_text(job, "runs-on") || steps.is_empty() {
            wrong.push(format!("{name}: no machine or no steps"));
        }
        let needs = &job["needs"];
        let needs = needs
            .as_array()
            .map_or(std::slice::from_ref(needs), Vec::as_slice);
        let known = |need: &Value| {
            need.as_str()
                .is_none_or(|need| workflow["jobs"][need].is_object())
        };
        if !needs.iter().all(known) {
            wrong.push(format!("{name} needs a job that is not there"));
        }
        wrong.extend(steps.iter().filter_map(|step| of_step(name, step)));
    }
    if jobs.is_none_or(serde_json::Map::is_empty) {
        wrong.push("no jobs".to_owned());
    }
    wrong
}

/// What is wrong with a step: an action without a version, or a script that is not there.
fn of_step(job: &str, step: &Value) -> Option<String> {
    let (uses, run) = (step["uses"].as_str(), step["run"].as_str());
    if let Some(uses) = uses {
        let version = uses.rsplit_once('@').map_or("", |(_, version)| version);
        let number = version
            .strip_prefix("release/")
            .unwrap_or(version)
            .strip_prefix('v');
        let is_major = number.is_some_and(|number| number.parse::<u32>().is_ok());
        return (!is_major).then(|| format!("{job}: {uses} has no major version"));
    }
    let Some(run) = run else {
        return Some(format!("{job}: a step does nothing"));
    };
    let is_script = |word: &&str| word.starts_with("ci/") && word.ends_with(".sh");
    let mut scripts = run.split_whitespace().filter(is_script);
    let missing = scripts.find(|script| !source_tree::root().join(script).is_file());
    missing.map(|script| format!("{job}: there is no {script}"))
}

#[test]
fn issue_forms_are_such() {
    let all = parsed(FORMS);
    let names: Vec<&str> = all.iter().map(|(path, _)| &path[FORMS.len()..]).collect();
    assert_eq!(
        names,
        ["bug.yml", "config.yml", "refused.yml", "wrong_result.yml"]
    );
    for (path, form) in &all {
        if path.ends_with("/config.yml") {
            let links = list(form, "contact_links");
            let is_whole = |link: &Value| {
                ["name", "url", "about"]
                    .iter()
                    .all(|key| has_text(link, key))
            };
            assert!(!links.is_empty() && links.iter().all(is_whole), "{path}");
        } else {
            assert_eq!(of_form(form), Vec::<String>::new(), "{path}");
        }
    }
}

#[test]
fn a_wrong_result_is_told_with_what_runs_it_again() {
    let all = parsed(FORMS);
    let required = |name: &str| -> Vec<String> {
        let (_, form) = all.iter().find(|(path, _)| path.ends_with(name)).unwrap();
        let fields = list(form, "body").iter();
        let fields = fields.filter(|field| field["validations"]["required"] == true);
        fields
            .filter_map(|field| field["id"].as_str().map(str::to_owned))
            .collect()
    };
    assert_eq!(
        required("wrong_result.yml"),
        ["spec", "problem", "verify", "doctor"]
    );
    assert_eq!(required("refused.yml")[..2], ["spec", "refusal"]);
}

#[test]
fn workflows_are_such() {
    let all = parsed(WORKFLOWS);
    assert!(!all.is_empty());
    for (path, workflow) in &all {
        assert_eq!(of_workflow(workflow), Vec::<String>::new(), "{path}");
    }
}

/// No long-lived secret publishes anything, and a job that may publish runs code of ours alone.
#[test]
fn a_release_is_published_by_trusted_publishing() {
    let files = source_tree::files().unwrap();
    let path = format!("{WORKFLOWS}release.yml");
    let text = &files.iter().find(|file| file.path == path).unwrap().text;
    assert!(!text.contains("secrets."), "{path} reads a secret");
    let workflow: Value = serde_yaml::from_str(text).unwrap();
    assert_eq!(workflow["on"]["push"]["tags"][0], "v*");
    let jobs = workflow["jobs"].as_object().unwrap();
    let trusted = jobs
        .iter()
        .filter(|(_, job)| job["permissions"]["id-token"] == "write");
    let mut actions = BTreeSet::new();
    for (name, job) in trusted {
        assert!(has_text(job, "environment"), "{name} has no environment");
        let steps = list(job, "steps");
        assert!(
            !steps
                .iter()
                .any(|step| step["run"].as_str().is_some_and(builds)),
            "{name} builds"
        );
        actions.extend(steps.iter().filter_map(|step| step["uses"].as_str()));
    }
    let wanted = [
        "pypa/gh-action-pypi-publish@",
        "rust-lang/crates-io-auth-action@",
    ];
    for action in wanted {
        assert!(
            actions.iter().any(|used| used.starts_with(action)),
            "{action}: {actions:?}"
        );
    }
}

/// Whether commands run build scripts, which may be of others.
fn builds(run: &str) -> bool {
    let words = ["ci/", "cargo build", "cargo test", "cargo run", "maturin"];
    let verifies = run.contains("cargo publish") && !run.contains("--no-verify");
    verifies || words.iter().any(|word| run.contains(word))
}

#[test]
fn what_is_wrong_with_forms_and_workflows_is_told() {
    let form = |text: &str| of_form(&serde_yaml::from_str(text).unwrap()).join("; ");
    let field = "{ type: input, id: a, attributes: { label: A }, validations: { required: true } }";
    let head = "name: A\ndescription: B\nbody:\n";
    assert_eq!(form(&format!("{head}  - {field}\n")), "");
    let twice = form(&format!("{head}  - {field}\n  - {field}\n"));
    assert_eq!(twice, "field 1: no id of its own");
    let other = field.replace("input", "text");
    assert_eq!(
        form(&format!("{head}  - {other}\n")),
        "field 0: `text` is no type"
    );
    let choice = field.replace("input", "dropdown");
    assert_eq!(form(&format!("{head}  - {choice}\n")), "field 0: options");
    assert!(form("name: A\n").starts_with("no description; no body"));

    let workflow = |job: &str| {
        let head = "name: a\non: { push: {} }\npermissions: { contents: read }\njobs:\n";
        let text = format!("{head}  a: {{ runs-on: b, {job} }}\n");
        of_workflow(&serde_yaml::from_str(&text).unwrap()).join("; ")
    };
    assert_eq!(
        workflow("steps: [{ uses: a/b@v1 }, { run: ci/test.sh }]"),
        ""
    );
    assert_eq!(workflow("steps: [{ uses: a/b@release/v1 }]"), "");
    assert_eq!(
        workflow("steps: [{ uses: a/b@main }]"),
        "a: a/b@main has no major version"
    );
    assert_eq!(
        workflow("steps: [{ run: ci/none.sh }]"),
        "a: there is no ci/none.sh"
    );
    assert_eq!(workflow("steps: [{ name: b }]"), "a: a step does nothing");
    assert_eq!(workflow("steps: []"), "a: no machine or no steps");
    let needs = workflow("needs: [c], steps: [{ run: ls }]");
    assert_eq!(needs, "a needs a job that is not there");
    let loose: Value = serde_yaml::from_str("name: a\non: { push: {} }\n").unwrap();
    assert_eq!(of_workflow(&loose).len(), 2);
}
