// The interactive description of the API; "Authorize" takes a key.
SwaggerUIBundle({ url: "/openapi.json", dom_id: "#api", deepLinking: true, persistAuthorization: false });
