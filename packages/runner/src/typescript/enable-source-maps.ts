/**
 * For Node versions that run hooks in a separate thread, which cannot know in time whether a file
 * has a map. Loaded after the engine, so that the engine's frames keep their names.
 */
process.setSourceMapsEnabled(true)
