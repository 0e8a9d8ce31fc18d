/**
 * For Node versions that run the hooks in a separate thread, which cannot know in
 * time whether a file carries a map. Loaded after the engine, so that its
 * frames retain their own names.
 */
process.setSourceMapsEnabled(true)
