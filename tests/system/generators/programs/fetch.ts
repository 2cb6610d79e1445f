// A client of openapi-typescript and openapi-fetch, compiled strictly against the exact document.
import createClient from "openapi-fetch";
import type { components, paths } from "./exact.js";

const client = createClient<paths>({ baseUrl: process.env.ADDRESS!, headers: { "x-api-key": process.env.KEY! } });

function check(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

const source = "fetch/films";
const path = { source };
const pieces: components["schemas"]["SubmittedPiece"][] = [
  { id: "a/1", categories: { genre: ["noir", "crime"] }, filters: { region: "eu", catalogs: ["x,y"] }, extras: { year: 2013 } },
  { id: "b", categories: { genre: [{ key: "noir", weight: 80 }, { key: "war", weight: 0 }] } },
  { id: "c,d", categories: { genre: ["noir", { key: "crime", weight: 3 }] } },
  { id: "e", categories: { people: { director: ["Welles"] }, genre: ["noir"] } },
];
const submitted = await client.POST("/{source}/content", { params: { path }, body: pieces });
check(submitted.data?.accepted === 4, "submitted");

const read = await client.GET("/{source}/content/{contentID}", { params: { path: { source, contentID: "a/1" } } });
check(read.data?.extras["year"] === 2013 && read.data.filters["region"] === "eu", "own members come back");

const near = await client.GET("/{source}/content/{contentID}/similar", {
  params: { path: { source, contentID: "a/1" }, query: { exclude: ["b", "c,d"], algo: "jaccard" } },
});
check(near.data?.content.map((entry) => entry.id).join() === "e", "two ids are excluded");
const catalog = await client.GET("/{source}/content/{contentID}/similar", {
  params: { path: { source, contentID: "b" }, query: { catalogs: ["x,y"] } },
});
check(catalog.data?.content.map((entry) => entry.id).join() === "a/1", "a catalog with a comma");

const recorded = await client.POST("/{source}/users/{userID}/interactions/{type}/content/{contentID}", {
  params: { path: { source, userID: "kim", type: "RateLike", contentID: "b" } },
});
check(recorded.data?.type === "RateLike", "recorded");
const listed = await client.GET("/{source}/users/{userID}/recommendation", { params: { path: { source, userID: "kim" } } });
check((listed.data?.content.length ?? 0) === 3, "recommended");

const wrong = await client.POST("/{source}/content", { params: { path }, body: [{ id: "", categories: {} }] });
check(wrong.error?.status === 422 && wrong.error.errors?.[0]?.pointer === "/0/id", "422 with its pointer");
const missing = await client.GET("/{source}/content/{contentID}", { params: { path: { source, contentID: "no" } } });
check(missing.error?.code === "unknown-piece", "404");
console.log("passed");
