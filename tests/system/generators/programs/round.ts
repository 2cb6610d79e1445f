// A client of openapi-generator's typescript-fetch, compiled strictly against the document for generators.
import { Configuration, ContentApi, PeopleApi, RecommendationsApi, ResponseError } from "./client/index";
import type { SubmittedPiece } from "./client/index";

function check(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

async function refusal(status: number, request: Promise<unknown>): Promise<string> {
  try {
    await request;
  } catch (error) {
    if (!(error instanceof ResponseError)) throw error;
    check(error.response.status === status, `found ${error.response.status}`);
    return await error.response.text();
  }
  throw new Error("no refusal");
}

const configuration = new Configuration({ basePath: process.env["ADDRESS"]!, apiKey: process.env["KEY"]! });
const content = new ContentApi(configuration);
const lists = new RecommendationsApi(configuration);
const source = "typescript-fetch/films";
const nested = { people: { director: ["Welles"] }, genre: ["noir"] };
const mixed = { genre: ["noir", { key: "crime", weight: 3 }] };
const pieces: SubmittedPiece[] = [
  { id: "a/1", categories: { genre: ["noir", "crime"] }, filters: { region: "eu", catalogs: ["x,y"] }, extras: { year: 2013 } },
  { id: "b", categories: { genre: [{ key: "noir", weight: 80 }, { key: "war", weight: 0 }] } },
  { id: "c,d", categories: mixed },
  { id: "e", categories: nested },
];
const receipt = await content.submitContent({ source, submittedPiece: pieces });
check(receipt.accepted === 4, "submitted");

const read = await content.getContent({ source, contentID: "a/1", minVersion: receipt.version });
check(read.extras["year"] === 2013 && read.filters["region"] === "eu", "own members come back");
for (const [contentID, categories] of [["c,d", mixed], ["e", nested]] as const) {
  const found = await content.getContent({ source, contentID });
  check(JSON.stringify(found.categories) === JSON.stringify(categories), `categories of ${contentID}`);
}

const near = await lists.similarContent({ source, contentID: "a/1", exclude: ["b", "c,d"], algo: "jaccard" });
check(near.content.map((entry) => entry.id).join() === "e", "two ids are excluded");
const within = await lists.similarContent({ source, contentID: "b", catalogs: ["x,y"] });
check(within.content.map((entry) => entry.id).join() === "a/1", "a catalog with a comma");

const people = new PeopleApi(configuration);
const recorded = await people.recordInteraction({ source, userID: "kim", type: "RateLike", contentID: "b" });
check(recorded.timestamp instanceof Date, "recorded");
check((await lists.recommend({ source, userID: "kim" })).content.length === 3, "recommended");

const wrong = content.submitContent({ source, submittedPiece: [{ id: "", categories: {} }] });
check((await refusal(422, wrong)).includes("/0/id"), "422 with its pointer");
check((await refusal(404, content.getContent({ source, contentID: "no" }))).includes("unknown-piece"), "404");
console.log("passed");
