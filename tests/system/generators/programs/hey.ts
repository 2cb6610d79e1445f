// A client of @hey-api/openapi-ts, compiled strictly against the exact document.
import { client } from "./hey/client.gen";
import { getContent, recommend, recordInteraction, similarContent, submitContent } from "./hey/sdk.gen";

client.setConfig({ baseUrl: process.env["ADDRESS"]!, headers: { "x-api-key": process.env["KEY"]! } });

function check(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

const source = "hey/films";
const submitted = await submitContent({
  path: { source },
  body: [
    { id: "a/1", categories: { genre: ["noir", "crime"] }, filters: { region: "eu", catalogs: ["x,y"] }, extras: { year: 2013 } },
    { id: "b", categories: { genre: [{ key: "noir", weight: 80 }, { key: "war", weight: 0 }] } },
    { id: "c,d", categories: { genre: ["noir", { key: "crime", weight: 3 }] } },
    { id: "e", categories: { people: { director: ["Welles"] }, genre: ["noir"] } },
  ],
});
check(submitted.data?.accepted === 4, "submitted");
const read = await getContent({ path: { source, contentID: "a/1" } });
check(read.data?.extras["year"] === 2013 && read.data.filters["region"] === "eu", "own members come back");
const near = await similarContent({
  path: { source, contentID: "a/1" },
  query: { exclude: ["b", "c,d"], algo: "jaccard" },
});
check(near.data?.content.map((entry) => entry.id).join() === "e", "two ids are excluded");
const catalog = await similarContent({ path: { source, contentID: "b" }, query: { catalogs: ["x,y"] } });
check(catalog.data?.content.map((entry) => entry.id).join() === "a/1", "a catalog with a comma");
const recorded = await recordInteraction({ path: { source, userID: "kim", type: "RateLike", contentID: "b" } });
check(recorded.data?.type === "RateLike", "recorded");
const listed = await recommend({ path: { source, userID: "kim" } });
check(listed.data?.content.length === 3, "recommended");
const wrong = await submitContent({ path: { source }, body: [{ id: "", categories: {} }] });
check(wrong.response.status === 422, "422");
const missing = await getContent({ path: { source, contentID: "no" } });
check(missing.response.status === 404, "404");
console.log("passed");
