import penchant.ApiClient;

class Connection {
  static ApiClient open(String address, String key) {
    var client = new ApiClient();
    client.setBasePath(address);
    client.setApiKey(key);
    return client;
  }
}
