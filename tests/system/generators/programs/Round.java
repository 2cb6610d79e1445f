// A client of openapi-generator's java, compiled against the document for generators; Connection is the library's own.
import java.util.List;
import java.util.Map;
import penchant.ApiException;
import penchant.api.ContentApi;
import penchant.api.PeopleApi;
import penchant.api.RecommendationsApi;
import penchant.model.Filters;
import penchant.model.RecommendationResult;
import penchant.model.RecommendedPiece;
import penchant.model.SubmittedPiece;

public class Round {
  static void check(boolean holds, String what) {
    if (!holds) throw new AssertionError(what);
  }

  static SubmittedPiece piece(String id, Map<String, Object> categories) {
    return new SubmittedPiece().id(id).categories(categories);
  }

  static List<String> ids(RecommendationResult result) {
    return result.getContent().stream().map(RecommendedPiece::getId).toList();
  }

  interface Request {
    Object send() throws ApiException;
  }

  static String refusal(int status, Request request) throws ApiException {
    try {
      request.send();
    } catch (ApiException error) {
      check(error.getCode() == status, "found " + error.getCode());
      return error.getResponseBody();
    }
    throw new AssertionError("no refusal");
  }

  public static void main(String[] words) throws ApiException {
    var client = Connection.open(System.getenv("ADDRESS"), System.getenv("KEY"));
    var content = new ContentApi(client);
    var lists = new RecommendationsApi(client);
    var source = words[0];
    var filters = new Filters().addCatalogsItem("x,y");
    filters.putAdditionalProperty("region", "eu");
    var crime = Map.of("key", "crime", "weight", 3);
    Map<String, Object> nested = Map.of("people", Map.of("director", List.of("Welles")), "genre", List.of("noir"));
    var pieces =
        List.of(
            piece("a/1", Map.of("genre", List.of("noir", "crime"))).filters(filters).putExtrasItem("year", 2013),
            piece("b", Map.of("genre", List.of(Map.of("key", "noir", "weight", 80), Map.of("key", "war", "weight", 0)))),
            piece("c,d", Map.of("genre", List.of("noir", crime))),
            piece("e", nested));
    var receipt = content.submitContent(source, pieces);
    check(receipt.getAccepted() == 4, receipt.toString());

    var read = content.getContent(source, "a/1", receipt.getVersion(), null, null);
    check("eu".equals(read.getFilters().getAdditionalProperty("region")), "own members come back");
    check(((Number) read.getExtras().get("year")).intValue() == 2013, "extras come back");
    check(content.getContent(source, "e", null, null, null).getCategories().equals(nested), "nested categories");
    var mixed = (List<?>) content.getContent(source, "c,d", null, null, null).getCategories().get("genre");
    check(mixed.get(0).equals("noir") && ((Map<?, ?>) mixed.get(1)).get("key").equals("crime"), "mixed keywords");

    var excluded = List.of("b", "c,d");
    var near =
        lists.similarContent(
            source, "a/1", null, null, null, null, null, "jaccard", null, null, excluded, null, null, null, null, null);
    check(ids(near).equals(List.of("e")), "two ids are excluded");
    check(near.getContent().get(0).getScore() == 0.666666666667, "a score keeps its decimals");
    var catalogs = List.of("x,y");
    var within =
        lists.similarContent(
            source, "b", null, null, catalogs, null, null, null, null, null, null, null, null, null, null, null);
    check(ids(within).equals(List.of("a/1")), "a catalog with a comma");

    var recorded = new PeopleApi(client).recordInteraction(source, "kim", "RateLike", "b", null, null, null);
    check(recorded.getTimestamp() != null, recorded.toString());
    var listed =
        lists.recommend(
            source, "kim", null, null, null, null, null, null, null, null, null, null, null, null, null, null, null);
    check(listed.getContent().size() == 3, listed.toString());

    var wrong = List.of(piece("", Map.of()));
    check(refusal(422, () -> content.submitContent(source, wrong)).contains("/0/id"), "422 with its pointer");
    check(refusal(404, () -> content.getContent(source, "no", null, null, null)).contains("unknown-piece"), "404");
    System.out.println("passed");
  }
}
