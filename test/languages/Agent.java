import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;

/** A Java client of java.net.http: an answer whole, then a stream line by line. */
public class Agent {
  static final HttpClient client = HttpClient.newHttpClient();

  static HttpRequest ask(String body) {
    return HttpRequest.newBuilder(URI.create(System.getenv("OPENAI_BASE_URL") + "/chat/completions"))
        .header("content-type", "application/json")
        .header("authorization", "Bearer " + System.getenv("OPENAI_API_KEY"))
        .POST(HttpRequest.BodyPublishers.ofString(body))
        .build();
  }

  public static void main(String[] args) throws Exception {
    var whole =
        client.send(
            ask("{\"model\":\"gpt-4o\",\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}"),
            BodyHandlers.ofString());
    System.out.println(whole.statusCode() + " " + whole.version() + " " + whole.body());
    var stream =
        client.send(
            ask(
                "{\"model\":\"gpt-4o\",\"stream\":true,"
                    + "\"messages\":[{\"role\":\"user\",\"content\":\"Hello again\"}]}"),
            BodyHandlers.ofLines());
    stream.body().forEach(System.out::println);
    System.out.println(stream.statusCode());
  }
}
