// What the command prints as JSON, against the schemas of its shapes.
//
//   node schema.mjs MODULES SCHEMAS FOLDER
//
// MODULES is the folder npm filled, SCHEMAS holds KIND.json, FOLDER the documents (*.json). Prints one line for each thing that
// is wrong, and ends with 1 if there is one, or if a schema met no document.
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join, resolve } from "node:path";

const [modules, schemas, folder] = process.argv.slice(2);
const require = createRequire(join(resolve(modules), "package.json"));
const Ajv = require("ajv/dist/2020").default;

const read = (file) => JSON.parse(readFileSync(file, "utf8"));
const of = (folder) => readdirSync(folder).filter((name) => name.endsWith(".json")).sort().map((name) => join(folder, name));

// The same schema, but nothing that it does not name is valid: what is printed and not described is noticed. Wherever a value
// stands is closed; what describes it together with others (all of these, one of these, what is referred to) is not by itself.
const closed = (schema, stands = true) => {
  if (schema === null || typeof schema !== "object") return schema;
  const each = (of, stands) => Object.fromEntries(Object.entries(of).map(([name, one]) => [name, closed(one, stands)]));
  const made = Object.fromEntries(Object.entries(schema).map(([name, of]) => {
    if (name === "properties" || name === "patternProperties") return [name, each(of, true)];
    if (name === "$defs") return [name, each(of, false)];
    if (name === "items" || name === "additionalProperties") return [name, closed(of)];
    if (name === "prefixItems") return [name, of.map((one) => closed(one))];
    if (name === "allOf" || name === "anyOf" || name === "oneOf") return [name, of.map((one) => closed(one, false))];
    return [name, of];
  }));
  const describes = ["properties", "$ref", "allOf", "anyOf", "oneOf"].some((name) => name in made);
  if (stands && describes) made.unevaluatedProperties = false;
  return made;
};

const ajv = new Ajv({ strict: false, validateFormats: false });
const known = new Map(of(schemas).map((file) => {
  const schema = read(file);
  return [basename(file, ".json"), { open: ajv.compile(schema), strict: ajv.compile(closed(schema)), met: false }];
}));
const wrong = [];
for (const file of of(folder)) {
  const document = read(file);
  const say = (what) => wrong.push(`${basename(file)} (${document.kind}): ${what}`);
  const schema = known.get(document.kind);
  if (!schema) { say("no schema is of this kind"); continue; }
  schema.met = true;
  if (!schema.open(document)) say(ajv.errorsText(schema.open.errors));
  if (!schema.strict(document)) say(`not described: ${ajv.errorsText(schema.strict.errors)} ${JSON.stringify(schema.strict.errors[0].params)}`);
  // What a later powerband adds is allowed; what is missing, of another type or of another version is not.
  if (!schema.open({ ...document, added_later: 1 })) say("a field may not be added");
  if (schema.open({ ...document, version: document.version + 1 })) say("another version is valid");
  for (const field of Object.keys(document))
    if (field !== "load" && schema.open({ ...document, [field]: { of: "another type" } })) say(`${field} may be anything`);
}
for (const [kind, { met }] of known) if (!met) wrong.push(`no document was of the kind ${kind}`);
for (const line of wrong) console.log(line);
process.exit(wrong.length ? 1 : 0);
