// A client of oapi-codegen, compiled and run against the document for generators.
package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"

	"example.org/generators/penchant"
)

func check(holds bool, what string) {
	if !holds {
		panic(what)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	ctx := context.Background()
	key := func(_ context.Context, request *http.Request) error {
		request.Header.Set("x-api-key", os.Getenv("KEY"))
		return nil
	}
	client := must(penchant.NewClientWithResponses(os.Getenv("ADDRESS"), penchant.WithRequestEditorFn(key)))
	source := "go/films"
	body := `[
	  {"id": "a/1", "categories": {"genre": ["noir", "crime"]}, "filters": {"region": "eu", "catalogs": ["x,y"]}, "extras": {"year": 2013}},
	  {"id": "b", "categories": {"genre": [{"key": "noir", "weight": 80}, {"key": "war", "weight": 0}]}},
	  {"id": "c,d", "categories": {"genre": ["noir", {"key": "crime", "weight": 3}]}},
	  {"id": "e", "categories": {"people": {"director": ["Welles"]}, "genre": ["noir"]}}]`
	var pieces penchant.Submission
	must(0, json.Unmarshal([]byte(body), &pieces))
	submitted := must(client.SubmitContentWithResponse(ctx, source, nil, pieces))
	check(submitted.JSON202 != nil && submitted.JSON202.Accepted == 4, string(submitted.Body))
	read := must(client.GetContentWithResponse(ctx, source, "a/1", nil))
	check(read.JSON200.Filters.AdditionalProperties["region"] == "eu", "own members come back")
	check(read.JSON200.Extras["year"] == 2013.0, "extras come back")
	algo := penchant.SimilarContentParamsAlgoJaccard
	near := must(client.SimilarContentWithResponse(ctx, source, "a/1",
		&penchant.SimilarContentParams{Exclude: &[]string{"b", "c,d"}, Algo: &algo}))
	check(len(near.JSON200.Content) == 1 && near.JSON200.Content[0].Id == "e", string(near.Body))
	var score float64 = near.JSON200.Content[0].Score
	check(strings.Contains(string(near.Body), "0.666666666667") && score == 0.666666666667, "a score keeps its decimals")
	catalog := must(client.SimilarContentWithResponse(ctx, source, "b", &penchant.SimilarContentParams{Catalogs: &[]string{"x,y"}}))
	check(len(catalog.JSON200.Content) == 1, "a catalog with a comma")
	recorded := must(client.RecordInteractionWithResponse(ctx, source, "kim", penchant.RecordInteractionParamsTypeRateLike, "b", nil))
	check(recorded.JSON200 != nil, string(recorded.Body))
	listed := must(client.RecommendWithResponse(ctx, source, "kim", nil))
	check(len(listed.JSON200.Content) == 3, string(listed.Body))
	wrong := must(client.SubmitContentWithResponse(ctx, source, nil, penchant.Submission{{Id: ""}}))
	check(wrong.StatusCode() == 422, string(wrong.Body))
	missing := must(client.GetContentWithResponse(ctx, source, "no", nil))
	check(missing.ApplicationproblemJSON404.Code == "unknown-piece", string(missing.Body))
	println("passed")
}
