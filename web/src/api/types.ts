/** The server's types by their short names. They are generated from its OpenAPI; nothing is declared twice. */

import type { components } from "./schema";

type Schemas = components["schemas"];

export type Session = Schemas["Session"];
export type ModelInfo = Schemas["ModelInfo"];
export type MeasureInfo = Schemas["MeasureInfo"];
export type MethodInfo = Schemas["MethodInfo"];
export type Job = Schemas["Job"];
export type TokenList = Schemas["TokenList"];
export type Answer = Schemas["Answer"];
export type Choice = Schemas["Choice"];
export type Maps = Schemas["Maps"];
export type Words = Schemas["Words"];
export type Heads = Schemas["Heads"];
export type Head = Schemas["Head"];
export type Change = Schemas["Change"];
export type Search = Schemas["Search"];
export type Faithfulness = Schemas["Faithfulness"];
export type Slot = "a" | "b";
